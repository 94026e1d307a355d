/** The pages of the key/value cache: which are free, and how many sequences hold each of the others. */
import { V1Error } from '../../../errors.js'

export class PagePool {
  readonly total: number
  readonly #holders: Uint32Array
  readonly #free: number[]
  /** Pages that hold what is no number, which even weights of zero do not silence: they must be cleared before use. */
  readonly #spoilt = new Set<number>()

  constructor(total: number) {
    this.total = total
    this.#holders = new Uint32Array(total)
    // Lowest first, so that short runs touch little memory.
    this.#free = Array.from({ length: total }, (_, i) => total - 1 - i)
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
