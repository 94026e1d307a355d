import { V1Error } from '../../contract/errors.js'
import type { Following, Sampled, SampleSettings, Sequence, StepInput, TokenModel } from '../../contract/token-model.js'
import { drawKey, gumbel, mix, sampleRow } from '../../device/sampling.js'

export interface RandomModelOptions {
  readonly vocabSize: number
  readonly contextLength?: number
  readonly maxBatch?: number
  readonly maxChunk?: number
  /** As in `TokenModel`. */
  readonly maxSamples?: number
  readonly maxScored?: number
  readonly fewTokens?: number
  readonly rowPositions?: number
  readonly pages?: number
  /** Makes some tokens likelier, so that answers end or go the way a test wants. */
  readonly bias?: (tokens: readonly number[]) => ReadonlyMap<number, number>
  /** A model that knows what it wants to say: taken where the mask allows it. */
  readonly next?: (tokens: readonly number[]) => number | undefined
  /** Runs before each step; may wait or throw. */
  readonly before?: (batch: readonly StepInput[]) => Promise<void> | void
  /** Once so many pages or fewer are free there turn out to be no more: its memory could not grow. */
  readonly endsAt?: number
  /** Offers `run` too. */
  readonly ahead?: boolean
  /** Offers `follow` too. */
  readonly follows?: boolean
}

const PAGE = 16

interface Page {
  users: number
}

/**
 * A token model without weights: its logits are a hash of the last tokens, everything else is real: pages that are
 * shared and copied on writing, batches, masks, sampling.
 */
/** The latest: most texts are written more than once, to be compared, and two logarithms a token are most of the time. */
const known = new Map<string, Float32Array>()
const MOST_KNOWN = 2 ** 22

function logitsOf(key: number, size: number): Float32Array {
  const name = `${key} ${size}`
  const logits = known.get(name) ?? Float32Array.from({ length: size }, (_, id) => gumbel(key, id))
  known.delete(name)
  known.set(name, logits)
  // All but a few are of one size.
  while (known.size * size > MOST_KNOWN) known.delete(known.keys().next().value!)
  return logits
}

export class RandomModel implements TokenModel {
  readonly vocabSize: number
  readonly contextLength: number
  readonly maxBatch: number
  readonly maxChunk: number
  readonly maxSamples?: number
  readonly maxScored?: number
  readonly fewTokens?: number
  readonly rowPositions?: number
  readonly pageTokens = PAGE
  readonly fingerprint = 'fp_random'
  readonly steps: { readonly tokens: number; readonly sampled: boolean }[][] = []
  readonly run?: TokenModel['run']
  readonly follow?: TokenModel['follow']
  /** Passes that were begun before it was known how their tokens are drawn, and those of them that were of use. */
  readonly begun = { all: 0, used: 0 }
  closed = false
  openSequences = 0
  freePages: number
  readonly #options: RandomModelOptions
  #busy = false

  constructor(options: RandomModelOptions) {
    this.#options = options
    this.vocabSize = options.vocabSize
    this.contextLength = options.contextLength ?? 4096
    this.maxBatch = options.maxBatch ?? 8
    this.maxChunk = options.maxChunk ?? 64
    if (options.maxSamples !== undefined) this.maxSamples = options.maxSamples
    if (options.maxScored !== undefined) this.maxScored = options.maxScored
    if (options.fewTokens !== undefined) this.fewTokens = options.fewTokens
    if (options.rowPositions !== undefined) this.rowPositions = options.rowPositions
    this.freePages = options.pages ?? 512
    if (options.ahead) this.run = (batch, steps) => this.#run(batch, steps)
    if (options.follows) this.follow = (batch) => this.#follow(batch)
  }

  get freeTokens(): number {
    return this.freePages * PAGE
  }

  open(): Sequence {
    return new RandomSequence(this, [], [])
  }

  async step(batch: readonly StepInput[]): Promise<(Sampled | undefined)[]> {
    if (this.closed) throw new Error('closed')
    if (this.#busy) throw new Error('two steps at once')
    if (batch.length > this.maxBatch) throw new Error('batch too large')
    this.#assertGrown()
    this.#busy = true
    try {
      await this.#options.before?.(batch)
      this.steps.push(batch.map(({ tokens, sample }) => ({ tokens: tokens.length, sampled: sample !== undefined })))
      const samples = batch.reduce(
        (sum, { sample, drafts = [] }) => sum + (sample ? 1 : 0) + drafts.filter(Boolean).length,
        0,
      )
      if (samples > (this.maxScored ?? this.maxSamples ?? this.maxBatch))
        throw new Error(`${samples} samples in a step`)
      return batch.map(({ sequence, tokens, sample, drafts }) => {
        if (tokens.length === 0 || tokens.length > this.maxChunk) throw new Error(`${tokens.length} tokens in a step`)
        const own = sequence as RandomSequence
        own.append(tokens)
        if (own.length > this.contextLength) throw new Error('context overrun')
        if (!drafts) return sample && this.#sample(own.tokens, sample)
        if (this.maxSamples === undefined || drafts.length >= tokens.length) throw new Error('drafts without room')
        const before = drafts.flatMap((draft, i) => {
          return draft ? [this.#sample(own.tokens.slice(0, i - drafts.length), draft)] : []
        })
        return { ...this.#sample(own.tokens, sample!), drafts: before }
      })
    } finally {
      this.#busy = false
    }
  }

  async close(): Promise<void> {
    this.closed = true
  }

  /** Pages that it has said it has, and has not. */
  missing = 0

  get #mustGrow(): boolean {
    return this.missing === 0 && this.freePages > 0 && this.freePages <= (this.#options.endsAt ?? -1)
  }

  #assertGrown(): void {
    if (!this.#mustGrow) return
    this.missing = this.freePages
    this.freePages = 0
    throw new V1Error(503, 'full', { code: 'cache_full' })
  }

  async *#run(batch: readonly StepInput[], steps: number): AsyncGenerator<Sampled[]> {
    let inputs = batch
    for (let i = 0; i < steps; i++) {
      const results = (await this.step(inputs)) as Sampled[]
      yield results
      inputs = inputs.map((input, k) => ({
        sequence: input.sequence,
        tokens: [results[k]!.token],
        sample: { ...input.sample!, index: input.sample!.index + 1 },
      }))
    }
  }

  async *#follow(batch: readonly StepInput[]): Following {
    let results = (await this.step(batch)) as Sampled[]
    const sequences = batch.map(({ sequence }) => sequence as RandomSequence)
    for (;;) {
      const room = sequences.length <= this.freePages && !this.#mustGrow
      if (!room || sequences.some(({ length }) => length >= this.contextLength)) {
        yield results
        return
      }
      this.begun.all++
      for (const [i, sequence] of sequences.entries()) sequence.append([results[i]!.token])
      let drawn = false
      try {
        const settings = yield results
        drawn = true
        this.begun.used++
        this.steps.push(settings.map(() => ({ tokens: 1, sampled: true })))
        results = sequences.map(({ tokens }, i) => this.#sample(tokens, settings[i]!))
      } finally {
        if (!drawn) for (const sequence of sequences) if (!sequence.closed) sequence.truncate(sequence.length - 1)
      }
    }
  }

  #sample(tokens: readonly number[], settings: SampleSettings): Sampled {
    const sure = this.#options.next?.(tokens)
    if (sure !== undefined && (settings.mask === undefined || (settings.mask[sure >>> 5]! >>> (sure & 31)) & 1)) {
      return { token: sure }
    }
    const key = drawKey(mix((tokens.at(-1)! + 1) * 31 + (tokens.at(-2) ?? 7)), tokens.at(-3) ?? 3)
    const logits = logitsOf(key, this.vocabSize).slice()
    for (const [id, value] of this.#options.bias?.(tokens) ?? []) logits[id]! += value
    const adjust = new Map(settings.logitBias)
    for (const [id, count] of settings.counts ?? []) {
      if (count > 0)
        adjust.set(id, (adjust.get(id) ?? 0) - settings.presencePenalty - count * settings.frequencyPenalty)
    }
    const row = {
      ...settings,
      adjust: { tokens: Uint32Array.from(adjust.keys()), deltas: Float32Array.from(adjust.values()) },
    }
    return sampleRow(logits, this.vocabSize, row as never, new Float32Array(this.vocabSize))
  }
}

class RandomSequence implements Sequence {
  tokens: number[]
  readonly #model: RandomModel
  #pages: Page[]
  #closed = false

  constructor(model: RandomModel, tokens: readonly number[], pages: Page[]) {
    this.#model = model
    this.tokens = [...tokens]
    this.#pages = pages
    for (const page of pages) page.users++
    model.openSequences++
  }

  get length(): number {
    return this.tokens.length
  }

  get closed(): boolean {
    return this.#closed
  }

  append(tokens: readonly number[]): void {
    this.#check()
    const last = this.#pages.at(-1)
    if (this.tokens.length % PAGE !== 0 && last!.users > 1) {
      last!.users--
      this.#pages[this.#pages.length - 1] = this.#take()
    }
    this.tokens.push(...tokens)
    while (this.#pages.length * PAGE < this.tokens.length) this.#pages.push(this.#take())
  }

  clone(): Sequence {
    this.#check()
    return new RandomSequence(this.#model, this.tokens, [...this.#pages])
  }

  truncate(length: number): void {
    this.#check()
    if (length > this.tokens.length) throw new Error('truncate beyond the end')
    this.tokens.length = length
    while (this.#pages.length > Math.ceil(length / PAGE)) this.#give(this.#pages.pop()!)
  }

  close(): void {
    this.#check()
    this.#closed = true
    for (const page of this.#pages) this.#give(page)
    this.#model.openSequences--
  }

  #take(): Page {
    if (this.#model.freePages === 0) throw new Error('out of pages')
    this.#model.freePages--
    return { users: 1 }
  }

  #give(page: Page): void {
    if (--page.users === 0) this.#model.freePages++
  }

  #check(): void {
    if (this.#closed) throw new Error('the sequence is closed')
  }
}
