import type { Bytes } from './frame.js'
import { codePointAt } from './key-bytes.js'

/** The taken keys that begin as the key being read does: a stretch of all taken keys, which are sorted. */
export class SimilarKeys {
  static readonly NONE = new SimilarKeys([], 0, 0, 0)

  readonly #taken: readonly Bytes[]
  readonly #from: number
  readonly #to: number
  /** How many bytes they share with the key being read. */
  readonly depth: number

  private constructor(taken: readonly Bytes[], from: number, to: number, depth: number) {
    this.#taken = taken
    this.#from = from
    this.#to = to
    this.depth = depth
  }

  /** Before the first byte of a key. */
  static all(taken: readonly Bytes[]): SimilarKeys {
    return taken.length === 0 ? SimilarKeys.NONE : new SimilarKeys(taken, 0, taken.length, 0)
  }

  /** The same for the same keys, among the same taken ones. */
  get id(): string {
    return `${this.#from},${this.#to},${this.depth}`
  }

  get none(): boolean {
    return this.#from === this.#to
  }

  get texts(): readonly Bytes[] {
    return this.#taken.slice(this.#from, this.#to)
  }

  /** Those that go on with these bytes. */
  narrowed(bytes: Bytes): SimilarKeys {
    const taken = this.#taken
    let [from, to] = [this.#from, this.#to]
    while (from < to && !taken[from]!.startsWith(bytes, this.depth)) from++
    while (to > from && !taken[to - 1]!.startsWith(bytes, this.depth)) to--
    return from === to ? SimilarKeys.NONE : new SimilarKeys(taken, from, to, this.depth + bytes.length)
  }

  /** Whether one of them goes on with a character of this stretch. */
  goOnWithin(low: number, high: number): boolean {
    return this.texts.some((bytes) => {
      const next = codePointAt(bytes, this.depth)
      return next >= low && next <= high
    })
  }

  /** Whether one of them goes on with exactly these bytes to its end. */
  goOnAs(bytes: Bytes): boolean {
    for (let i = this.#from; i < this.#to; i++) if (this.#taken[i]!.slice(this.depth) === bytes) return true
    return false
  }

  /** The one that is exactly what has been read: only its closing quote is left. */
  get same(): Bytes | undefined {
    return this.texts.find((bytes) => bytes.length === this.depth + 1)
  }
}
