import type { Cell, Cells } from './cell.js'
import { type Bytes, Frame } from './frame.js'

/** Bytes that can only come as they are: punctuation, line breaks. */
export class FixedFrame extends Frame {
  readonly #byte: number
  readonly #rest: FixedFrame | undefined
  override readonly length: number

  private constructor(byte: number, rest: FixedFrame | undefined) {
    super()
    this.#byte = byte
    this.#rest = rest
    this.length = 1 + (rest?.length ?? 0)
  }

  /** These bytes, then those of `rest`, which is shared; undefined for none at all. */
  static of(bytes: Bytes, rest?: FixedFrame): FixedFrame | undefined {
    let frame = rest
    for (let i = bytes.length - 1; i >= 0; i--) frame = new FixedFrame(bytes.charCodeAt(i), frame)
    return frame
  }

  override step(byte: number, below: Cell, out: Cells): void {
    if (byte === this.#byte) out.add(this.#rest === undefined ? below : below.push(this.#rest))
  }

  override next(_below: Cell, into: Set<number>): boolean {
    into.add(this.#byte)
    return true
  }

  override spell(): Bytes {
    let bytes = ''
    for (let at: FixedFrame | undefined = this; at !== undefined; at = at.#rest) bytes += String.fromCharCode(at.#byte)
    return bytes
  }
}
