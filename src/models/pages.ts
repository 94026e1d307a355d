import { V1Error } from '../contract/index.js'
import { PAGE } from '../device/index.js'

/** The pages of the key/value cache: which are free, and how many sequences hold each of the others. */
export class PagePool {
  #total: number
  #ready: number
  readonly #holders: Uint32Array
  #free: number[]
  /** Pages that hold what is no number, which even weights of zero do not silence: they must be cleared before use. */
  readonly #spoilt = new Set<number>()

  /** `ready`: pages that there is memory for; the others are only taken once there is. */
  constructor(total: number, ready = total) {
    this.#total = total
    this.#ready = ready
    this.#holders = new Uint32Array(total)
    // Lowest first, so that short runs touch little memory.
    this.#free = Array.from({ length: total }, (_, i) => total - 1 - i)
  }

  get total(): number {
    return this.#total
  }

  /** How many pages must be ready so that `count` more may be taken. */
  wants(count: number): number {
    // Those that are not ready are the last to be taken.
    const others = this.#total - this.#ready
    return this.#ready + Math.max(0, count - (this.#free.length - others))
  }

  /** Whether there is no memory for so many more yet. */
  lacks(count: number): boolean {
    return this.wants(count) > this.#ready
  }

  get ready(): number {
    return this.#ready
  }

  grewTo(ready: number): void {
    this.#ready = ready
  }

  /** There are no more than those that are ready. */
  grewNoFurther(): void {
    this.#free = this.#free.filter((page) => page < this.#ready)
    this.#total = this.#ready
  }

  get free(): number {
    return this.#free.length
  }

  take(): number {
    const page = this.#free.pop()
    if (page === undefined) throw cacheFull()
    this.#holders[page] = 1
    return page
  }

  spoil(pages: Iterable<number>): void {
    for (const page of pages) this.#spoilt.add(page)
  }

  /** Whether a page that was just taken must be cleared; asked once. */
  mustClear(page: number): boolean {
    return this.#spoilt.delete(page)
  }

  share(page: number): void {
    this.#holders[page]!++
  }

  shared(page: number): boolean {
    return this.#holders[page]! > 1
  }

  release(page: number): void {
    if (--this.#holders[page]! === 0) this.#free.push(page)
  }
}

export function cacheFull(): V1Error {
  return new V1Error(503, 'The key/value cache is full.', { code: 'cache_full', retryAfter: 1 })
}

/** In place of a page that was given back. */
export const GONE = -1

/** What must happen to pages before anything is written to them. */
export interface PagesChanged {
  readonly copies: { readonly from: number; readonly to: number }[]
  readonly cleared: number[]
}

/** Where a sequence lies in the caches of one pool: its pages in order. */
export class PageList {
  readonly #pool: PagePool
  #pages: Int32Array = new Int32Array(16)
  #count = 0

  constructor(pool: PagePool) {
    this.#pool = pool
  }

  /** A view: it changes with the list. */
  get pages(): Int32Array {
    return this.#pages.subarray(0, this.#count)
  }

  /** Pages that `append` takes. */
  needs(length: number, tokens: number): number {
    return Math.ceil((length + tokens) / PAGE) - this.#count + (this.#mustCopy(length) ? 1 : 0)
  }

  /**
   * Makes room for tokens behind `length` others. A last page that others hold too is replaced by a copy of it. The caller
   * clears and copies before the new tokens are written.
   */
  append(length: number, tokens: number, { copies, cleared }: PagesChanged): void {
    if (this.#mustCopy(length)) {
      const from = this.#pages[this.#count - 1]!
      const to = this.#pool.take()
      copies.push({ from, to })
      // The copy covers all of it.
      this.#pool.mustClear(to)
      this.#pages[this.#count - 1] = to
      this.#pool.release(from)
    }
    while (this.#count * PAGE < length + tokens) {
      const page = this.#pool.take()
      if (this.#pool.mustClear(page)) cleared.push(page)
      this.#push(page)
    }
  }

  /** What they hold is no number. */
  spoil(): void {
    this.#pool.spoil(this.pages.filter((page) => page !== GONE))
  }

  /** The pages of another, which both hold from then on. */
  shareWith(other: PageList): void {
    for (const page of other.pages) {
      if (page !== GONE) this.#pool.share(page)
      this.#push(page)
    }
  }

  /** Gives back what is not needed for so many tokens. */
  cut(length: number): void {
    while (this.#count > Math.ceil(length / PAGE)) this.giveBack(--this.#count)
  }

  protected giveBack(index: number): void {
    const page = this.#pages[index]!
    if (page !== GONE) this.#pool.release(page)
    this.#pages[index] = GONE
  }

  #mustCopy(length: number): boolean {
    return length % PAGE !== 0 && this.#pool.shared(this.#pages[this.#count - 1]!)
  }

  #push(page: number): void {
    if (this.#count === this.#pages.length) {
      const wider = new Int32Array(this.#count * 2)
      wider.set(this.#pages)
      this.#pages = wider
    }
    this.#pages[this.#count++] = page
  }
}
