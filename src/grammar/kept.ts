/** A small object and its place in a map. */
export const ENTRY_BYTES = 150

/** A cache of at least `most` and at most twice as many values: those that were used since the last half are carried over. */
export class Kept<K, V> {
  readonly #most: number
  readonly #bytesOf: (value: V) => number
  #young = new Map<K, V>()
  #old = new Map<K, V>()
  #youngBytes = 0
  #oldBytes = 0

  /** `bytesOf`: what a value takes, its place here included. */
  constructor(most: number, bytesOf: (value: V) => number = () => ENTRY_BYTES) {
    this.#most = most
    this.#bytesOf = bytesOf
  }

  /** What all of them take. */
  get bytes(): number {
    return this.#youngBytes + this.#oldBytes
  }

  get(key: K): V | undefined {
    const value = this.#young.get(key)
    if (value !== undefined) return value
    const before = this.#old.get(key)
    if (before !== undefined) this.set(key, before)
    return before
  }

  set(key: K, value: V): void {
    const known = this.#young.get(key)
    if (known !== undefined) this.#youngBytes -= this.#bytesOf(known)
    else if (this.#young.size >= this.#most) {
      this.#old = this.#young
      this.#young = new Map()
      this.#oldBytes = this.#youngBytes
      this.#youngBytes = 0
    }
    this.#young.set(key, value)
    this.#youngBytes += this.#bytesOf(value)
  }
}

/** More bytes than this get an array over all bytes, of 2 KB. */
const FEW = 10

/** Where the bytes tried so far lead from a place: most places are left by one or a few of them. */
export class Branches<T> {
  readonly #bytes: number[] = []
  #next: (T | undefined)[] = []
  #wide = false

  get(byte: number): T | undefined {
    if (this.#wide) return this.#next[byte]
    const i = this.#bytes.indexOf(byte)
    return i < 0 ? undefined : this.#next[i]
  }

  set(byte: number, next: T): void {
    if (!this.#wide && this.#bytes.length === FEW) this.#widen()
    if (this.#wide) this.#next[byte] = next
    else {
      this.#bytes.push(byte)
      this.#next.push(next)
    }
  }

  #widen(): void {
    const row = new Array<T | undefined>(256)
    for (let i = 0; i < FEW; i++) row[this.#bytes[i]!] = this.#next[i]
    this.#next = row
    this.#wide = true
  }
}
