import { halfToFloat } from '../../src/platform/half.js'

/** What a GGUF file holds, read by the format's description alone. */
export class GgufReader {
  readonly metadata = new Map<string, unknown>()
  readonly tensors = new Map<string, { dims: number[]; type: number; offset: number }>()
  readonly #view: DataView
  #at = 8
  readonly #data: number

  constructor(bytes: Uint8Array) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const [tensors, keys] = [this.#u64(), this.#u64()]
    for (let i = 0; i < keys; i++) this.metadata.set(this.#text(), this.#value(this.#u32()))
    for (let i = 0; i < tensors; i++) {
      const name = this.#text()
      const dims = Array.from({ length: this.#u32() }, () => this.#u64())
      this.tensors.set(name, { dims, type: this.#u32(), offset: this.#u64() })
    }
    this.#data = Math.ceil(this.#at / 32) * 32
  }

  /** Rows of a matrix in Q4_0: blocks of a half and 32 codes, the low halves of the bytes first. */
  rows(name: string): number[][] {
    const { dims, offset } = this.tensors.get(name)!
    const [columns, rows] = dims as [number, number]
    const block = (at: number) => {
      const scale = halfToFloat(this.#view.getUint16(at, true))
      return Array.from({ length: 32 }, (_, i) => {
        const byte = this.#view.getUint8(at + 2 + (i % 16))
        return ((i < 16 ? byte & 15 : byte >> 4) - 8) * scale
      })
    }
    const blocks = columns / 32
    return Array.from({ length: rows }, (_, row) =>
      Array.from({ length: blocks }, (_, i) => block(this.#data + offset + (row * blocks + i) * 18)).flat(),
    )
  }

  /** Where the next so many bytes stand. */
  #take(bytes: number): number {
    this.#at += bytes
    return this.#at - bytes
  }
  #u32(): number {
    return this.#view.getUint32(this.#take(4), true)
  }
  #u64(): number {
    return Number(this.#view.getBigUint64(this.#take(8), true))
  }
  #text(): string {
    const length = this.#u64()
    const bytes = new Uint8Array(this.#view.buffer, this.#view.byteOffset + this.#take(length), length)
    return new TextDecoder().decode(bytes)
  }
  #value(type: number): unknown {
    if (type === 8) return this.#text()
    if (type === 6) return this.#view.getFloat32(this.#take(4), true)
    if (type === 7) return this.#view.getUint8(this.#take(1)) === 1
    if (type !== 9) return this.#u32()
    const inner = this.#u32()
    return Array.from({ length: this.#u64() }, () => this.#value(inner))
  }
}
