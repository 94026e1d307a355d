import type { Sequence } from '../../contract/index.js'
import { commonLength } from '../../platform/index.js'
import type { NativeSequence } from './library.js'

/** One of llama.cpp's sequences. Their number is fixed: whoever is stepped has one, others may lose theirs to it. */
interface Place {
  readonly native: NativeSequence
  owner: HeldSequence | undefined
  /** Copies of what it holds that have no place of their own yet. */
  readonly waiting: Set<HeldSequence>
}

/** The sequences of one context, and who has them. */
export class Places {
  /** The least recently used first. */
  readonly #all: Place[]
  /** Whether what one holds can be copied to another. */
  readonly #copies: boolean

  constructor(natives: readonly NativeSequence[]) {
    this.#all = natives.map((native) => ({ native, owner: undefined, waiting: new Set() }))
    this.#copies = natives.every(({ _copyStateFromOtherSequence: copy }) => typeof copy === 'function')
  }

  /** Tokens that sequences hold, each in a place of its own. */
  get held(): number {
    return this.#all.reduce((sum, { owner }) => sum + (owner?.length ?? 0), 0)
  }

  open(): HeldSequence {
    return new HeldSequence(this.#copies)
  }

  /**
   * Gives each a place that holds nothing but its tokens; where that place cannot be cut so far, fewer. Copies are made
   * before anything of what they are made of is cut.
   */
  async settle(sequences: readonly HeldSequence[]): Promise<NativeSequence[]> {
    for (const sequence of sequences) if (!sequence.place) await this.#place(sequence, sequences)
    const settled: NativeSequence[] = []
    for (const sequence of sequences) {
      const place = sequence.place!
      const { native, waiting } = place
      if (!sequence.known || native.nextTokenIndex !== sequence.length) {
        await native.adaptStateToTokens(sequence.tokens, false)
        sequence.known = true
        for (const copy of waiting) copy.cut(commonLength(copy.tokens, sequence.tokens))
      }
      this.#all.splice(this.#all.indexOf(place), 1)
      this.#all.push(place)
      settled.push(native)
    }
    return settled
  }

  async #place(sequence: HeldSequence, batch: readonly HeldSequence[]): Promise<void> {
    const { source } = sequence
    const busy = new Set(batch.flatMap(({ place }) => place ?? []))
    // What others of this batch are copies of comes last.
    const needed = new Set(batch.flatMap((other) => (other !== sequence && other.source) || []))
    const free = this.#all.filter((place) => !busy.has(place))
    const unowned = free.filter(({ owner }) => !owner)
    const place =
      unowned.find((each) => each === source) ??
      unowned.find(({ waiting }) => waiting.size === 0) ??
      free.find((each) => !needed.has(each)) ??
      free[0]
    if (!place) throw new RangeError('A step advances more sequences than the context has.')
    sequence.take(place)
    if (source && source !== place && sequence.length > 0) {
      const copied = await place.native._copyStateFromOtherSequence!(source.native, sequence.length)
      if (!copied) await place.native.clearHistory()
    }
  }
}

/** Tokens, and the place in which they are. It becomes empty when another is given its place. */
export class HeldSequence implements Sequence {
  tokens: number[] = []
  place: Place | undefined
  /** Where what it is a copy of stands, as long as it has no place of its own. */
  source: Place | undefined
  /** Its place holds nothing but its tokens, though it may hold more of them. */
  known = false
  closed = false
  readonly #copies: boolean

  constructor(copies: boolean) {
    this.#copies = copies
  }

  get length(): number {
    return this.tokens.length
  }

  clone(): HeldSequence {
    const copy = new HeldSequence(this.#copies)
    const source = this.place ?? this.source
    if (!this.#copies || !source) return copy
    copy.tokens = this.tokens.slice()
    copy.source = source
    source.waiting.add(copy)
    return copy
  }

  truncate(length: number): void {
    this.cut(this.reach(length))
  }

  reach(length: number): number {
    const { place } = this
    if (length >= this.length) return this.length
    if (!place?.native.needsCheckpoints) return length
    const again = place.native.getRestoreToPrefixIndexEvaluationSize(length)
    // A state is kept with the token that it was kept behind.
    return again > 0 ? Math.min(length, length - again + 1) : length
  }

  cut(length: number): void {
    if (length < this.tokens.length) this.tokens.length = length
  }

  close(): void {
    this.closed = true
    this.#leave()
    this.tokens = []
  }

  /** Has this place from now on; whoever had it, or waited for what it holds and is no more, begins again. */
  take(place: Place): void {
    const last = place.owner
    place.owner = undefined
    last?.lose()
    // Others that are copies of the same begin as this one does, until it is cut.
    if (this.source !== place) for (const copy of place.waiting) copy.lose()
    this.#leave()
    this.place = place
    place.owner = this
  }

  lose(): void {
    this.#leave()
    this.tokens = []
  }

  #leave(): void {
    if (this.place?.owner === this) this.place.owner = undefined
    this.source?.waiting.delete(this)
    this.place = undefined
    this.source = undefined
    this.known = false
  }
}
