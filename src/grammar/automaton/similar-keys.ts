import { belowText } from '../automata/ascending.js'
import { encoded } from '../values/text-length.js'
import type { Bytes } from './frame.js'
import { codePointAt } from './key-bytes.js'

/** No byte is greater. */
const BEHIND_ALL = '\u0100'

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

  get size(): number {
    return this.#to - this.#from
  }

  get texts(): readonly Bytes[] {
    return this.#taken.slice(this.#from, this.#to)
  }

  has(bytes: Bytes): boolean {
    const at = belowText(this.#taken, bytes, this.#from, this.#to)
    return at < this.#to && this.#taken[at] === bytes
  }

  /** Those that go on with these bytes. */
  narrowed(bytes: Bytes): SimilarKeys {
    const taken = this.#taken
    const begun = this.#with(bytes)
    const from = belowText(taken, begun, this.#from, this.#to)
    const to = belowText(taken, begun + BEHIND_ALL, from, this.#to)
    return from === to ? SimilarKeys.NONE : new SimilarKeys(taken, from, to, this.depth + bytes.length)
  }

  /** The first code point beyond ASCII, from this one on, that none of them goes on with. */
  freeFrom(codePoint: number): number {
    let free = codePoint
    const begun = this.#with(encoded(codePoint))
    for (let at = belowText(this.#taken, begun, this.#from, this.#to); at < this.#to; at++) {
      const next = codePointAt(this.#taken[at]!, this.depth)
      if (next > free) break
      if (next === free) free++
    }
    return free
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
    return this.has(this.#with(bytes))
  }

  /** The one that is exactly what has been read: only its closing quote is left. */
  get same(): Bytes | undefined {
    const whole = this.#with('"')
    return this.has(whole) ? whole : undefined
  }

  #with(rest: Bytes): Bytes {
    return this.none ? rest : this.#taken[this.#from]!.slice(0, this.depth) + rest
  }
}
