/** One sequence: how long it is, on which pages of the caches it lies, and which states it has. */
import type { Sequence } from '../contract/index.js'
import { NO_STATE, type SpanState } from '../device/index.js'
import { PageList, type PagePool, type PagesChanged } from './pages.js'
import { StateHistory, type StatePool } from './states.js'
import { WindowList, type WindowPool } from './windows.js'

/** What sequences of a model are kept in. */
export interface SequencePools {
  readonly pages: PagePool
  /** Absent: no layer slides. */
  readonly windows?: WindowPool | undefined
  /** Absent: no layer has states. */
  readonly states?: StatePool | undefined
  /** Tokens beyond which a text is computed otherwise, from its first token on; absent: none is. */
  readonly border?: number | undefined
}

/** Of pages of full caches, and of those of windows. */
export interface Changed {
  readonly full: PagesChanged
  readonly windows: PagesChanged
}

export class PagedSequence implements Sequence {
  /** Of a text beyond the border. */
  readonly long: boolean
  readonly lengths: readonly [least: number, most: number] | undefined
  readonly pools: SequencePools
  readonly #list: PageList
  readonly windows: WindowList | undefined
  readonly history: StateHistory | undefined
  length = 0
  closed = false
  /** Tokens that a head that guesses has read, from the first on. */
  #along = 0

  constructor(pools: SequencePools, long = false) {
    const { pages, windows, states, border } = pools
    this.pools = pools
    this.long = long
    if (border !== undefined) this.lengths = long ? [border + 1, Number.POSITIVE_INFINITY] : [0, border]
    this.#list = new PageList(pages)
    this.windows = windows && new WindowList(windows, () => this.#cut(0))
    this.history = states && new StateHistory(states, (length) => this.#cut(length))
  }

  get readAlong(): boolean {
    return this.#along === this.length
  }

  /** Pages in order, at least up to the last token. A view: it changes with the sequence. */
  get pages(): Int32Array {
    return this.#list.pages
  }

  /** Free pages that `append(tokens)` takes, but for those of windows. */
  needs(tokens: number): number {
    return this.#list.needs(this.length, tokens)
  }

  /**
   * Makes room for more tokens and counts them as held. `back`: it may be cut behind so many of them; `along`: a head that
   * guesses reads them, too.
   */
  append(
    tokens: number,
    changed: Changed,
    { back, along }: { readonly back?: readonly number[] | undefined; readonly along?: boolean } = {},
  ): SpanState | undefined {
    this.#list.append(this.length, tokens, changed.full)
    this.windows?.append(this.length, tokens, changed.windows)
    const state = this.history?.advance(tokens, back)
    if (along && this.readAlong) this.#along += tokens
    this.length += tokens
    return state
  }

  /** What it holds is no number. */
  spoil(): void {
    this.#list.spoil()
    this.windows?.spoil()
  }

  clone(): PagedSequence {
    this.#assertOpen()
    const other = new PagedSequence(this.pools, this.long)
    other.#list.shareWith(this.#list)
    if (this.windows) other.windows?.shareWith(this.windows)
    if (this.history) other.history?.copyFrom(this.history)
    other.length = this.length
    other.#along = this.#along
    return other
  }

  /** A copy on which tokens may be tried that the sequence never comes to have; `from`: the slot of what it stands at. */
  lookAhead(): { readonly sequence: PagedSequence; readonly from: number } {
    this.#assertOpen()
    const other = new PagedSequence({ ...this.pools, states: undefined }, this.long)
    other.#list.shareWith(this.#list)
    other.length = this.length
    return { sequence: other, from: this.history?.last?.slot ?? NO_STATE }
  }

  truncate(length: number): void {
    this.#assertOpen()
    if (!Number.isInteger(length) || length < 0 || length > this.length) {
      throw new RangeError(`A sequence of ${this.length} tokens cannot be cut to ${length}.`)
    }
    if (length < this.length) this.#cut(this.reach(length))
  }

  reach(length: number): number {
    const most = Math.min(length, this.length)
    const kept = this.history ? this.history.reach(most) : most
    const seen = this.windows ? this.windows.reach(kept) : kept
    // Where a window is left there may be no state.
    return this.history && seen < kept ? this.reach(seen) : seen
  }

  close(): void {
    if (this.closed) return
    this.#cut(0)
    this.windows?.close()
    this.closed = true
  }

  #cut(length: number): void {
    this.length = length
    this.#along = Math.min(length, this.#along)
    this.#list.cut(length)
    this.windows?.cut(length)
    this.history?.cut(length)
  }

  #assertOpen(): void {
    if (this.closed) throw new Error('This sequence is closed.')
  }
}
