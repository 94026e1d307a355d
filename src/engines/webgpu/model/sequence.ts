/** One sequence: how long it is, on which pages of the cache it lies, and which states it has. */
import type { Sequence } from '../../../decode/token-model.js'
import { PAGE, type SpanState } from '../contract.js'
import type { PagePool } from './pages.js'
import { StateHistory, type StatePool } from './states.js'

export interface Appended {
  readonly copy: { readonly from: number; readonly to: number } | undefined
  /** Pages that must be cleared. */
  readonly clear: readonly number[]
  readonly state: SpanState | undefined
}

export class PagedSequence implements Sequence {
  readonly #pool: PagePool
  #pages: Int32Array
  #count = 0
  #length = 0
  #closed = false
  readonly #states: StatePool | undefined
  /** Absent: no layer has states. */
  readonly history: StateHistory | undefined

  constructor(pool: PagePool, states?: StatePool) {
    this.#pool = pool
    this.#states = states
    this.#pages = new Int32Array(16)
    this.history = states && new StateHistory(states, (length) => this.#cut(length))
  }

  get length(): number {
    return this.#length
  }

  get closed(): boolean {
    return this.#closed
  }

  /** Pages in order, at least up to the last token. A view: it changes with the sequence. */
  get pages(): Int32Array {
    return this.#pages.subarray(0, this.#count)
  }

  belongsTo(pool: PagePool): boolean {
    return this.#pool === pool
  }

  /** Free pages that `append(tokens)` takes. */
  needs(tokens: number): number {
    return Math.ceil((this.#length + tokens) / PAGE) - this.#count + (this.#mustCopy() ? 1 : 0)
  }

  /**
   * Makes room for more tokens and counts them as held. A last page that others hold too is replaced by a copy of it.
   * The caller clears and copies before the new tokens are written.
   */
  append(tokens: number): Appended {
    let copy: { from: number; to: number } | undefined
    const clear: number[] = []
    if (this.#mustCopy()) {
      const from = this.#pages[this.#count - 1]!
      copy = { from, to: this.#pool.take() }
      // The copy covers all of it.
      this.#pool.mustClear(copy.to)
      this.#pages[this.#count - 1] = copy.to
      this.#pool.release(from)
    }
    const state = this.history?.advance(tokens)
    this.#length += tokens
    while (this.#count * PAGE < this.#length) {
      const page = this.#pool.take()
      if (this.#pool.mustClear(page)) clear.push(page)
      this.#push(page)
    }
    return { copy, clear, state }
  }

  /** What it holds is no number. */
  spoil(): void {
    this.#pool.spoil(this.pages)
  }

  clone(): PagedSequence {
    this.#assertOpen()
    const other = new PagedSequence(this.#pool, this.#states)
    for (let i = 0; i < this.#count; i++) {
      this.#pool.share(this.#pages[i]!)
      other.#push(this.#pages[i]!)
    }
    other.#length = this.#length
    if (this.history) other.history?.copyFrom(this.history)
    return other
  }

  truncate(length: number): void {
    this.#assertOpen()
    if (!Number.isInteger(length) || length < 0 || length > this.#length) {
      throw new RangeError(`A sequence of ${this.#length} tokens cannot be cut to ${length}.`)
    }
    if (length < this.#length) this.#cut(this.history ? this.history.cut(length) : length)
  }

  reach(length: number): number {
    const most = Math.min(length, this.#length)
    return this.history ? this.history.reach(most) : most
  }

  close(): void {
    if (this.#closed) return
    this.history?.cut(0)
    this.#cut(0)
    this.#closed = true
  }

  #cut(length: number): void {
    this.#length = length
    this.#drop(Math.ceil(length / PAGE))
  }

  #mustCopy(): boolean {
    return this.#length % PAGE !== 0 && this.#pool.shared(this.#pages[this.#count - 1]!)
  }

  #push(page: number): void {
    if (this.#count === this.#pages.length) {
      const wider = new Int32Array(this.#count * 2)
      wider.set(this.#pages)
      this.#pages = wider
    }
    this.#pages[this.#count++] = page
  }

  #drop(keep: number): void {
    while (this.#count > keep) this.#pool.release(this.#pages[--this.#count]!)
  }

  #assertOpen(): void {
    if (this.#closed) throw new Error('This sequence is closed.')
  }
}
