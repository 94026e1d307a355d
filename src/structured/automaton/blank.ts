import type { Cell, Cells } from './cell.js'
import { type Bytes, Frame, SPACED } from './frame.js'

/** Spaces, tabs and line breaks: all that JSON knows. */
const BLANKS = [0x09, 0x0a, 0x0d, 0x20]

/** Up to so many bytes of white space, then what another frame says. */
export class BlankFrame extends Frame {
  readonly inner: Frame
  readonly #left: number
  #fewer: Frame | undefined

  constructor(inner: Frame, left: number) {
    super(inner.traits | SPACED)
    this.inner = inner
    this.#left = left
  }

  override step(byte: number, below: Cell, out: Cells): void {
    if (!BLANKS.includes(byte)) {
      this.inner.step(byte, below, out)
      return
    }
    this.#fewer ??= this.#left > 1 ? new BlankFrame(this.inner, this.#left - 1) : this.inner
    out.add(below.push(this.#fewer))
  }

  override next(below: Cell, into: Set<number>): boolean {
    for (const byte of BLANKS) into.add(byte)
    return this.inner.next(below, into)
  }

  override get length(): number {
    return this.inner.length
  }

  override spell(): Bytes {
    return this.inner.spell()
  }
}

/** What a frame is behind the white space that may come before it. */
export function bare(frame: Frame | undefined): Frame | undefined {
  return frame !== undefined && (frame.traits & SPACED) !== 0 ? (frame as BlankFrame).inner : frame
}
