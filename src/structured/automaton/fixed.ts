import type { Cell, Cells } from './cell.js'
import { type Bytes, Frame } from './frame.js'

/** Bytes that can only come as they are: punctuation. */
export class FixedFrame extends Frame {
  readonly #bytes: Bytes
  readonly #rest: FixedFrame | undefined

  constructor(bytes: Bytes) {
    super()
    this.#bytes = bytes
    this.#rest = bytes.length > 1 ? new FixedFrame(bytes.slice(1)) : undefined
  }

  override step(byte: number, below: Cell, out: Cells): void {
    if (byte === this.#bytes.charCodeAt(0)) out.add(this.#rest === undefined ? below : below.push(this.#rest))
  }

  override next(_below: Cell, into: Set<number>): boolean {
    into.add(this.#bytes.charCodeAt(0))
    return true
  }

  override get length(): number {
    return this.#bytes.length
  }

  override spell(): Bytes {
    return this.#bytes
  }
}
