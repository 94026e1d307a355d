import { type Sampled, type Sequence, type StepInput, type TokenModel, UNDRAWN, V1Error } from '../../contract/index.js'
import { tooLong } from '../../generate/index.js'
import type { ForwardEngine } from './library.js'
import type { LogitPicker } from './logit-picker.js'

export interface ForwardParts {
  readonly engine: ForwardEngine
  readonly picker: LogitPicker
  readonly vocabSize: number
  readonly contextLength: number
  readonly maxChunk: number
  readonly fingerprint: string
  /** Whether WebLLM still has the model: after a lost device it drops it without a word. */
  readonly alive: () => Promise<boolean>
}

/**
 * WebLLM as a forward pass. Its cache holds one sequence and can only grow or be cleared: a sequence that another one
 * displaces, or that is cut, becomes empty, and whoever drives it feeds its tokens again.
 */
export class ForwardModel implements TokenModel {
  readonly vocabSize: number
  readonly contextLength: number
  readonly maxBatch = 1
  readonly maxChunk: number
  readonly fingerprint: string
  /** Only one sequence takes memory, and all of it is reserved. */
  readonly freeTokens: number
  readonly #parts: ForwardParts
  /** The sequence in WebLLM's cache, and how many tokens the cache holds. */
  #live: SoleSequence | undefined
  #held = 0
  #closed = false

  constructor(parts: ForwardParts) {
    this.#parts = parts
    this.vocabSize = parts.vocabSize
    this.contextLength = parts.contextLength
    this.freeTokens = parts.contextLength
    this.maxChunk = parts.maxChunk
    this.fingerprint = parts.fingerprint
  }

  open(): Sequence {
    return new SoleSequence()
  }

  async step(batch: readonly StepInput[]): Promise<readonly (Sampled | undefined)[]> {
    const results: (Sampled | undefined)[] = []
    for (const input of batch) results.push(await this.#advance(input))
    return results
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#live?.forget()
    await this.#parts.engine.unload()
  }

  async #advance({ sequence, tokens, sample, drafts }: StepInput): Promise<Sampled | undefined> {
    if (this.#closed) throw new Error('This model is closed.')
    if (drafts) throw new TypeError('WebLLM samples the last position alone.')
    if (!(sequence instanceof SoleSequence)) throw new TypeError('A step was given a sequence of another model.')
    const { engine, picker } = this.#parts
    if (sequence !== this.#live || sequence.length !== this.#held) await this.#clear(sequence)
    const length = sequence.length + tokens.length
    // WebLLM does not look: past its window it would corrupt its cache.
    if (length > this.contextLength) throw tooLong(this.contextLength, length)
    picker.expect(sample)
    // In any case unknown until it has run: after an error nothing in the cache is certain.
    this.#held = Number.NaN
    await engine.forwardTokensAndSample([...tokens], tokens.length > 1).catch(async (cause: unknown) => {
      throw (await this.#parts.alive()) ? cause : deviceLost(cause)
    })
    this.#held = length
    sequence.length = length
    const picked = picker.take()
    // Among logits that are no numbers none is picked.
    return sample !== undefined && picked === undefined ? { token: UNDRAWN } : picked
  }

  /** Makes the cache an empty one for `sequence`. */
  async #clear(sequence: SoleSequence): Promise<void> {
    this.#live?.forget()
    this.#live = sequence
    sequence.forget()
    if (this.#held !== 0) await this.#parts.engine.resetChat(true)
    this.#held = 0
  }
}

export function deviceLost(cause?: unknown): V1Error {
  return new V1Error(503, 'The GPU was lost.', { code: 'device_lost', retryAfter: 1, cause })
}

class SoleSequence implements Sequence {
  length = 0

  clone(): Sequence {
    return new SoleSequence()
  }

  truncate(length: number): void {
    if (length < this.length) this.forget()
  }

  close(): void {
    this.forget()
  }

  forget(): void {
    this.length = 0
  }
}
