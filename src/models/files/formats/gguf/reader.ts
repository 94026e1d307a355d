/** GGUF's values, little-endian, one after the other; nothing is made room for that the bytes cannot hold. */

/** More bytes are needed, so many at least. */
export class Short extends Error {
  readonly needed: number
  constructor(needed: number) {
    super(`${needed} bytes are needed`)
    this.needed = needed
  }
}

/** What is written cannot be, however many bytes follow. */
export class Malformed extends Error {}

/** Values of all lists of a head. The largest vocabularies, with their scores, kinds and merges, have 1.3 million. */
const MOST_VALUES = 1 << 22

/** The least that a value of each type takes; a text has its length before it. */
const LEAST = [1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8]
const LIST = 9

export class Reader {
  readonly #bytes: Uint8Array
  readonly #view: DataView
  /** A mark at the beginning of a token is a part of it. */
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  #values = 0
  at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  u32(): number {
    return this.#view.getUint32(this.#take(4), true)
  }

  /** A number of things, or of bytes. */
  count(): number {
    return Number(this.#view.getBigUint64(this.#take(8), true))
  }

  /** So many things follow, each of at least so many bytes. */
  expect(things: number, bytes: number): void {
    if (things * bytes > this.#bytes.length - this.at) throw new Short(this.at + things * bytes)
  }

  text(): string {
    const length = this.count()
    const from = this.#take(length)
    return this.#decoder.decode(this.#bytes.subarray(from, from + length))
  }

  value(type: number): unknown {
    const view = this.#view
    switch (type) {
      case 0:
        return view.getUint8(this.#take(1))
      case 1:
        return view.getInt8(this.#take(1))
      case 2:
        return view.getUint16(this.#take(2), true)
      case 3:
        return view.getInt16(this.#take(2), true)
      case 4:
        return this.u32()
      case 5:
        return view.getInt32(this.#take(4), true)
      case 6:
        return view.getFloat32(this.#take(4), true)
      case 7:
        return view.getUint8(this.#take(1)) !== 0
      case 8:
        return this.text()
      case LIST:
        return this.#list()
      case 10:
        return this.count()
      case 11:
        return Number(view.getBigInt64(this.#take(8), true))
      case 12:
        return view.getFloat64(this.#take(8), true)
    }
    throw new Malformed(`it has a value of the type ${type}, which GGUF does not know`)
  }

  #list(): unknown[] {
    const type = this.u32()
    const length = this.count()
    // llama.cpp takes none either: they could be nested without end.
    if (type === LIST) throw new Malformed('it has a list of lists')
    this.#values += length
    if (this.#values > MOST_VALUES) throw new Malformed(`its lists have more than ${MOST_VALUES} values`)
    this.expect(length, LEAST[type] ?? 1)
    const values: unknown[] = []
    for (let i = 0; i < length; i++) values.push(this.value(type))
    return values
  }

  #take(bytes: number): number {
    const at = this.at
    if (at + bytes > this.#bytes.length) throw new Short(at + bytes)
    this.at += bytes
    return at
  }
}
