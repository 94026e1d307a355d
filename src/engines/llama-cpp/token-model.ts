import type { Sampled, SampleSettings, Sequence, StepInput, TokenModel } from '../../contract/index.js'
import { tooLong } from '../../generate/index.js'
import type { EvaluatedToken, NativeSequence } from './library.js'
import { ALL, Drawer, firstReading, type LogitsWanted, readingOf, secondReading } from './reading.js'
import { HeldSequence, Places } from './sequences.js'

export interface LlamaCppParts {
  readonly natives: readonly NativeSequence[]
  /** Tokens that the tokenizer has. */
  readonly tokens: number
  readonly contextLength: number
  readonly maxBatch: number
  readonly maxChunk: number
  readonly fingerprint: string
  readonly release: () => Promise<void>
}

/** A position of a row at which something is drawn. */
interface Draw {
  readonly at: number
  readonly settings: SampleSettings
  readonly wanted: LogitsWanted
}

/** llama.cpp as a forward pass: rows of tokens in, of several sequences in one batch; logits out, masks in. */
export class LlamaCppModel implements TokenModel {
  readonly vocabSize: number
  readonly contextLength: number
  readonly maxBatch: number
  readonly maxChunk: number
  readonly maxSamples: number
  readonly fingerprint: string
  readonly #parts: LlamaCppParts
  readonly #places: Places
  readonly #drawer: Drawer
  /** A position can be computed once more: not where going back reads a prompt again. */
  readonly #revisits: boolean
  #closed = false

  constructor(parts: LlamaCppParts) {
    this.vocabSize = parts.tokens
    this.contextLength = parts.contextLength
    this.maxBatch = parts.maxBatch
    this.maxChunk = parts.maxChunk
    // Each is told on its own: as many as its smallest batch has tokens.
    this.maxSamples = Math.min(parts.maxChunk, 64)
    this.fingerprint = parts.fingerprint
    this.#parts = parts
    this.#places = new Places(parts.natives)
    this.#drawer = new Drawer(parts.tokens)
    this.#revisits = parts.natives.every(({ needsCheckpoints }) => !needsCheckpoints)
  }

  get freeTokens(): number {
    return this.#parts.natives.length * this.contextLength - this.#places.held
  }

  open(): Sequence {
    this.#assertOpen()
    return this.#places.open()
  }

  async step(batch: readonly StepInput[]): Promise<readonly (Sampled | undefined)[]> {
    const sequences = this.#check(batch)
    const natives = await this.#places.settle(sequences)
    return Promise.all(batch.map((input, i) => this.#advance(natives[i]!, sequences[i]!, input)))
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#parts.release()
  }

  async #advance(
    native: NativeSequence,
    sequence: HeldSequence,
    { tokens, sample, drafts = [] }: StepInput,
  ): Promise<Sampled | undefined> {
    const all = [...sequence.tokens, ...tokens]
    const samples = [...drafts, sample]
    const draws = samples.flatMap((settings, i): Draw[] => {
      if (settings === undefined) return []
      const first = firstReading(settings, this.vocabSize)
      const wanted = first.kind === 'greatest' && !this.#revisits ? ALL : first
      return [{ at: all.length - samples.length + i, settings, wanted }]
    })
    const drawn = await this.#read(native, all, draws)
    sequence.tokens = all
    if (native.needsCheckpoints && sample && tokens.length > 1) await native.takeCheckpoint()
    if (drafts.length === 0) return drawn[0]
    return { ...drawn.pop()!, drafts: drawn }
  }

  /** Reads what the sequence does not hold yet, and draws in the order of `draws`; again what was not decided. */
  async #read(native: NativeSequence, all: readonly number[], draws: readonly Draw[]): Promise<Sampled[]> {
    const begin = native.nextTokenIndex
    const items: EvaluatedToken[] = all.slice(begin)
    for (const { at, wanted } of draws) items[at - begin] = [all[at]!, { generateNext: readingOf(wanted) }]
    const replies = await native.controlledEvaluate(items)
    const drawn = draws.map(({ at, settings, wanted }) =>
      this.#drawer.draw(settings, wanted, replies[at - begin]?.next.logits),
    )
    const undecided = draws.filter((_, i) => drawn[i] === undefined)
    if (undecided.length > 0) {
      const again = undecided.map((draw) => ({ ...draw, wanted: secondReading(draw.settings, this.vocabSize) }))
      await native.adaptStateToTokens(all.slice(0, again[0]!.at), false)
      const rest = await this.#read(native, all, again)
      for (const [i, one] of drawn.entries()) if (one === undefined) drawn[i] = rest.shift()!
    }
    return drawn as Sampled[]
  }

  #check(batch: readonly StepInput[]): HeldSequence[] {
    this.#assertOpen()
    if (batch.length > this.maxBatch) {
      throw new RangeError(`A step advances at most ${this.maxBatch} sequences, not ${batch.length}.`)
    }
    const seen = new Set<HeldSequence>()
    for (const { sequence, tokens, sample, drafts } of batch) {
      if (!(sequence instanceof HeldSequence) || sequence.closed) {
        throw new TypeError('A step was given a sequence that is closed, or of another model.')
      }
      if (seen.has(sequence)) throw new TypeError('A step was given the same sequence twice.')
      seen.add(sequence)
      if (tokens.length === 0) throw new RangeError('A step appends at least one token to each sequence.')
      const unknown = tokens.find((token) => !(token >= 0 && token < this.vocabSize))
      // llama.cpp would end the process.
      if (unknown !== undefined) throw new RangeError(`There is no token ${unknown}.`)
      if (drafts && (!sample || drafts.length >= tokens.length)) {
        throw new RangeError('Drafts go with more tokens than there are of them, and a sample.')
      }
      const length = sequence.length + tokens.length
      // It would forget the beginning without a word.
      if (length > this.contextLength) throw tooLong(this.contextLength, length)
    }
    return [...seen]
  }

  #assertOpen(): void {
    if (this.#closed) throw new Error('This model is closed.')
  }
}
