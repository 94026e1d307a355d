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
