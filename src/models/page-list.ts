/** Where a sequence lies in the caches of one pool: its pages in order. */
import { PAGE } from '../device/index.js'
import type { PagePool } from './pages.js'

/** In place of a page that was given back. */
export const GONE = -1

export interface Appended {
  readonly copy: { readonly from: number; readonly to: number } | undefined
  /** Pages that must be cleared. */
  readonly clear: readonly number[]
}

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
  append(length: number, tokens: number): Appended {
    let copy: { from: number; to: number } | undefined
    const clear: number[] = []
    if (this.#mustCopy(length)) {
      const from = this.#pages[this.#count - 1]!
      copy = { from, to: this.#pool.take() }
      // The copy covers all of it.
      this.#pool.mustClear(copy.to)
      this.#pages[this.#count - 1] = copy.to
      this.#pool.release(from)
    }
    while (this.#count * PAGE < length + tokens) {
      const page = this.#pool.take()
      if (this.#pool.mustClear(page)) clear.push(page)
      this.#push(page)
    }
    return { copy, clear }
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
