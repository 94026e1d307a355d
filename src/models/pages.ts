/** The pages of the key/value cache: which are free, and how many sequences hold each of the others. */
import { V1Error } from '../contract/index.js'

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
