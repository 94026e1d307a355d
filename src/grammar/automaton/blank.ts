import { type Bytes, type Cell, type Cells, Frame, SPACED } from './frame.js'

/** Up to so many bytes of white space, of these kinds, then what another frame says. */
export class BlankFrame extends Frame {
  readonly inner: Frame
  readonly #left: number
  readonly #kinds: readonly number[]
  #fewer: Frame | undefined

  constructor(inner: Frame, left: number, kinds: readonly number[]) {
    super(inner.traits | SPACED)
    this.inner = inner
    this.#left = left
    this.#kinds = kinds
  }

  override step(byte: number, below: Cell, out: Cells): void {
    if (!this.#kinds.includes(byte)) {
      this.inner.step(byte, below, out)
      return
    }
    this.#fewer ??= this.#left > 1 ? new BlankFrame(this.inner, this.#left - 1, this.#kinds) : this.inner
    out.add(below.push(this.#fewer))
  }

  override next(below: Cell, into: Set<number>): boolean {
    for (const byte of this.#kinds) into.add(byte)
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
