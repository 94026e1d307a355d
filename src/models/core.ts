/** The TokenModel over a compute device: sequences in, sampled tokens out, in batches. */
import type { Following, Guessing, PointingModel, Sampled, Sequence, StepInput, TokenModel } from '../contract/index.js'
import { type Device, type KeyValueCache, PAGE, type Sampler } from '../device/index.js'
import { tooLong } from '../generate/index.js'
import type { Decoder } from './decoder.js'
import { follow } from './follow.js'
import { guessAhead } from './guess-ahead.js'
import type { SequenceMemory } from './kept.js'
import { cacheFull, PagePool } from './pages.js'
import { firstAnswer, moreAnswers } from './rehearse.js'
import { runAhead } from './run-ahead.js'
import { draftsIn, drawsIn, logitsBehind, planPasses, submitSpans } from './run-pass.js'
import { afterToken, needsToken, Slots } from './sampling.js'
import { PagedSequence, type SequencePools } from './sequence.js'
import { StatePool } from './states.js'
import { WindowPool } from './windows.js'

/** What `loadCore` puts together. */
export interface CoreParts {
  readonly device: Device
  readonly decoder: Decoder
  readonly sampler: Sampler
  readonly kept: SequenceMemory
  readonly pages: number
  readonly vocabSize: number
  readonly contextLength: number
  readonly maxBatch: number
  readonly maxChunk: number
  /** Tokens of one pass. */
  readonly rows: number
  /** Rows of a pass that go through the head. */
  readonly wanted: number
  readonly fingerprint: string
  /** What points beside it. */
  readonly pointing?: PointingModel
  /** Frees all that was made on the device. */
  readonly release: () => void
}

/**
 * Measured with nano on one thread: a row's products take 0.75 ms, and attention 0.6 µs a position of a prompt, 1 µs of a
 * text that is written.
 */
const ROW_POSITIONS = 768

export class Core implements TokenModel {
  readonly vocabSize: number
  readonly contextLength: number
  readonly maxBatch: number
  readonly maxChunk: number
  readonly pageTokens = PAGE
  readonly fingerprint: string
  readonly device: Device
  /** What points at stretches of a text, by the same weights. Absent: nothing does. */
  readonly pointing: PointingModel | undefined
  readonly rowLength: number | undefined
  /** That much room for logits there is: as the largest batch has sequences, or rows where a head makes rows. */
  readonly maxSamples: number
  /** Their logits are made in passes of their own, as many at a time as there is room for. */
  readonly maxScored: number
  readonly fewTokens: number | undefined
  readonly rowPositions: number | undefined
  /** On a GPU, where what is drawn takes a while to come back, and rows of one token are read alike in every pass. */
  readonly follow: ((batch: readonly StepInput[]) => Following) | undefined
  /** Where a head that guesses is loaded. */
  readonly guess: ((batch: readonly StepInput[]) => Guessing) | undefined
  readonly #parts: CoreParts
  readonly #pools: SequencePools
  readonly #slots: Slots
  /** Caches that grow with their use. */
  readonly #growing: readonly KeyValueCache[]
  #closed = false

  constructor(parts: CoreParts) {
    this.vocabSize = parts.vocabSize
    this.contextLength = parts.contextLength
    this.maxBatch = parts.maxBatch
    this.maxChunk = parts.maxChunk
    this.fingerprint = parts.fingerprint
    this.device = parts.device
    this.pointing = parts.pointing
    this.rowLength = parts.decoder.rowLength
    this.maxSamples = parts.wanted
    this.maxScored = this.rowLength === undefined ? parts.rows : parts.wanted
    this.fewTokens = parts.device.limits.fewRows
    if (parts.device.info.kind === 'cpu') this.rowPositions = ROW_POSITIONS
    this.#parts = parts
    this.#growing = parts.kept.caches.filter(({ grow, shape }) => grow && !shape.sliding)
    const { states, windows } = parts.kept
    this.#pools = {
      pages: new PagePool(parts.pages, Math.min(parts.pages, ...this.#growing.map(({ ready = parts.pages }) => ready))),
      windows: windows && new WindowPool(windows.pages, windows.window),
      states: states && new StatePool(states.shape.slots),
      border: parts.decoder.border,
    }
    this.#slots = new Slots(parts.sampler.shape.slots)
    const waits = parts.device.info.kind === 'webgpu' && this.rowLength === undefined && !parts.decoder.needsTokens
    this.follow = waits ? (batch) => this.#follow(batch) : undefined
    this.guess = parts.decoder.guesses ? (batch) => this.#guess(batch) : undefined
  }

  get readsAlong(): boolean {
    return this.#parts.decoder.readsAlong
  }

  set readsAlong(reads: boolean) {
    this.#parts.decoder.readsAlong = reads && this.#parts.decoder.guesses
  }

  get freeTokens(): number {
    return this.#pools.pages.free * PAGE
  }

  /** Tokens that the whole cache holds. */
  get cacheTokens(): number {
    return this.#pools.pages.total * PAGE
  }

  /**
   * Compiles what a first answer will need, then, without being waited for, what answers side by side need. Without it
   * the first passes of each kind wait for their kernels.
   */
  async prepare(onProgress?: (done: number, of: number) => void): Promise<void> {
    this.#assertOpen()
    const { device } = this
    if (!device.prepare) return
    await device.prepare((begin) => firstAnswer(this.#parts, begin, this), onProgress)
    await this.#parts.pointing?.model.prepare?.()
    // They are made when they are needed, where this fails.
    if (this.fewTokens !== undefined && this.maxBatch > 1) {
      device.prepare((begin) => moreAnswers(this.#parts, begin, this)).catch(() => undefined)
    }
  }

  open(length = 0): Sequence {
    this.#assertOpen()
    return new PagedSequence(this.#pools, length > (this.#pools.border ?? Number.POSITIVE_INFINITY))
  }

  async step(batch: readonly StepInput[]): Promise<readonly (Sampled | undefined)[]> {
    const needed = this.#check(batch, 0)
    if (this.#pools.pages.lacks(needed)) await this.#grow(needed)
    // Where nothing is drawn nothing is kept.
    const drawn = this.rowLength === undefined ? batch.length + Math.min(draftsIn(batch), this.maxSamples) : 0
    const slots = this.#slots.take(drawn)
    try {
      const passes = this.#plan(batch)
      this.#hold(batch)
      // All are submitted before any is awaited: later steps must find the sequences as long as they will be.
      const spare = slots.slice(batch.length)
      const submitted = passes.map((spans) => submitSpans(this.#parts, spans, slots, spare))
      const results = new Array<Sampled | undefined>(batch.length).fill(undefined)
      for (const result of await Promise.all(submitted)) {
        for (const { input, sampled } of result) results[input] = sampled
      }
      return results
    } finally {
      this.#slots.give(slots)
    }
  }

  /** Appends tokens to a sequence, and tells the logits behind each. */
  async *logits(sequence: Sequence, tokens: readonly number[]): AsyncGenerator<Float32Array> {
    if (this.rowLength !== undefined) throw new TypeError('A head that makes rows makes no logits.')
    for (let from = 0; from < tokens.length; from += this.maxChunk) {
      const input = { sequence, tokens: tokens.slice(from, from + this.maxChunk) }
      const needed = this.#check([input], 0)
      if (this.#pools.pages.lacks(needed)) await this.#grow(needed)
      this.#hold([input])
      yield* logitsBehind(this.#parts, sequence as PagedSequence, Int32Array.from(input.tokens))
    }
  }

  async *run(batch: readonly StepInput[], steps: number): AsyncGenerator<readonly Sampled[]> {
    const needed = this.#check(batch, steps - 1)
    if (this.#pools.pages.lacks(needed)) await this.#grow(needed)
    if (batch.some(({ sample, drafts }) => !sample || drafts)) {
      throw new TypeError('`run` samples the last token of every sequence of its batch, and no others.')
    }
    const onePass = this.#plan(batch).length === 1
    const needsTokens = this.#parts.decoder.needsTokens || batch.some(({ sample }) => needsToken(sample!))
    if (needsTokens || !onePass) {
      yield* this.#runStepwise(batch, steps)
      return
    }
    const slots = this.#slots.take(batch.length)
    try {
      yield* runAhead(this.#parts, batch, steps, slots, () => this.#hold(batch))
    } finally {
      this.#slots.give(slots)
    }
  }

  async *#follow(batch: readonly StepInput[]): Following {
    const needed = this.#check(batch, 0)
    if (this.#pools.pages.lacks(needed)) await this.#grow(needed)
    if (batch.some(({ sample, drafts }) => !sample || drafts)) {
      throw new TypeError('`follow` samples the last token of every sequence of its batch, and no others.')
    }
    const passes = this.#plan(batch)
    if (passes.length > 1) {
      yield (await this.step(batch)) as Sampled[]
      return
    }
    const slots = this.#slots.take(batch.length)
    try {
      this.#hold(batch)
      yield* follow(this.#parts, batch, passes[0]!, slots, () => {
        if (!this.#roomForOne(batch)) return false
        this.#hold(batch)
        return true
      })
    } finally {
      this.#slots.give(slots)
    }
  }

  async *#guess(batch: readonly StepInput[]): Guessing {
    this.#check(batch, 0)
    const slots = this.#slots.take(batch.length)
    try {
      yield* guessAhead(this.#parts, batch, slots, (sequences) => {
        const pages = sequences.reduce((sum, sequence) => sum + sequence.needs(1), 0)
        const short = sequences.some(({ length }) => length >= this.contextLength)
        return !this.#closed && !short && pages <= this.#pools.pages.free && !this.#pools.pages.lacks(pages)
      })
    } finally {
      this.#slots.give(slots)
    }
  }

  /** Whether each sequence may have one token more. */
  #roomForOne(batch: readonly StepInput[]): boolean {
    let pages = 0
    for (const each of batch) {
      const sequence = each.sequence as PagedSequence
      const [, most = this.contextLength] = sequence.lengths ?? []
      if (this.#closed || sequence.closed || sequence.length >= Math.min(most, this.contextLength)) return false
      pages += sequence.needs(1)
    }
    return pages <= this.#pools.pages.free && !this.#pools.pages.lacks(pages)
  }

  /**
   * Makes room for so many pages more, and for as many again as there are. Where the device has no memory for it, there
   * are no more pages than now: the step is refused, before anything has changed.
   */
  async #grow(pages: number): Promise<void> {
    const pool = this.#pools.pages
    const wanted = pool.wants(pages)
    for (const size of [Math.min(pool.total, Math.max(wanted, 2 * pool.ready)), wanted]) {
      const grown = await Promise.all(this.#growing.map((cache) => cache.grow!(size)))
      this.#assertOpen()
      if (!grown.every((done) => done)) continue
      pool.grewTo(size)
      return
    }
    pool.grewNoFurther()
    throw cacheFull()
  }

  /** Bytes that keys and values have come to use, and those that they may still take. */
  get cacheUse(): { readonly used: number; readonly open: number } {
    const caches = this.#parts.kept.caches
    const used = caches.reduce((sum, cache) => sum + cache.usedBytes, 0)
    const open = this.#growing.reduce((sum, { openBytes = 0 }) => sum + openBytes, 0)
    return { used, open }
  }

  async *#runStepwise(batch: readonly StepInput[], steps: number): AsyncGenerator<readonly Sampled[]> {
    let inputs = batch
    for (let i = 0; i < steps; i++) {
      const results = (await this.step(inputs)) as Sampled[]
      yield results
      inputs = inputs.map(({ sequence, sample }, k) => {
        // Whoever asked has seen an `UNDRAWN` and goes no further with that sequence.
        const token = Math.max(0, results[k]!.token)
        return { sequence, tokens: [token], sample: afterToken(sample!, token) }
      })
    }
  }

  /** Frees weights, cache and scratch; the device stays, for the next model. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    const { device, pointing, release } = this.#parts
    await pointing?.model.close()
    // Work in flight may still write into the buffers. A lost device has none.
    await device.idle().catch(() => undefined)
    release()
  }

  #plan(batch: readonly StepInput[]) {
    const { rows, kept, decoder } = this.#parts
    const marks = kept.states !== undefined || decoder.skipsLayers
    return planPasses(batch, { rows, few: this.fewTokens, marks, samples: this.maxSamples })
  }

  /** What the next passes begin with stays: states, and pages of windows. */
  #hold(batch: readonly StepInput[]): void {
    const { states, windows } = this.#pools
    states?.begin(batch.flatMap(({ sequence }) => (sequence as PagedSequence).history ?? []))
    windows?.begin(batch.flatMap(({ sequence }) => (sequence as PagedSequence).windows ?? []))
  }

  /**
   * Pages that it takes. Throws before anything has changed: `ahead` more tokens per sequence must fit too.
   */
  #check(batch: readonly StepInput[], ahead: number): number {
    this.#assertOpen()
    if (batch.length > this.maxBatch) {
      throw new RangeError(`A step advances at most ${this.maxBatch} sequences, not ${batch.length}.`)
    }
    if (drawsIn(batch) > this.maxScored) {
      throw new RangeError(`A step samples at most ${this.maxScored} positions.`)
    }
    const longest = this.#parts.rows
    const seen = new Set<Sequence>()
    let pages = 0
    for (const { sequence, tokens, sample, drafts } of batch) {
      if (!(sequence instanceof PagedSequence) || sequence.closed || sequence.pools !== this.#pools) {
        throw new TypeError('A step was given a sequence that is closed, or of another model.')
      }
      if (seen.has(sequence)) throw new TypeError('A step was given the same sequence twice.')
      seen.add(sequence)
      this.#checkTokens(tokens)
      if (drafts && (!sample || tokens.length > longest || drafts.length >= tokens.length)) {
        throw new RangeError(`${drafts.length} drafts go with more tokens than that, at most ${longest}, and a sample.`)
      }
      const length = sequence.length + tokens.length + ahead
      if (length > this.contextLength) throw tooLong(this.contextLength, length)
      const [, most = length] = sequence.lengths ?? []
      if (length > most) throw new RangeError(`This sequence was opened for at most ${most} tokens, not ${length}.`)
      pages += sequence.needs(tokens.length + ahead)
    }
    if (pages > this.#pools.pages.free) throw cacheFull()
    return pages
  }

  #checkTokens(tokens: readonly number[]): void {
    if (tokens.length === 0) throw new RangeError('A step appends at least one token to each sequence.')
    for (const token of tokens) {
      if (!(token >= 0 && token < this.vocabSize)) throw new RangeError(`There is no token ${token}.`)
    }
  }

  #assertOpen(): void {
    if (this.#closed) throw new Error('This model is closed.')
  }
}
