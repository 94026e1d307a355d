import { getOrMake } from '../../platform/index.js'
import type { Layout } from '../values/format.js'
import { FixedFrame } from './fixed.js'
import { type Bytes, type Cell, type Cells, COLON, Frame, SPACED } from './frame.js'

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

const NEWLINE = 0x0a
const outermost = new WeakMap<Layout, LineBreaks>()

/** What stands between the members of objects and arrays at one depth, as texts and as frames. */
export class LineBreaks {
  readonly depth: number
  readonly colon: FixedFrame
  /** Before the first member, between two, behind the last one. */
  readonly open: Bytes
  readonly between: Bytes
  readonly close: Bytes
  /** The byte that comes behind the last member; undefined: the bracket itself. */
  readonly closer: number | undefined
  /** The same, after their first byte. */
  readonly afterOpen: FixedFrame | undefined
  readonly afterComma: FixedFrame | undefined
  readonly afterCloser: { readonly array: FixedFrame; readonly object: FixedFrame } | undefined
  readonly #layout: Layout
  readonly #spaced = new WeakMap<Frame, BlankFrame>()

  private constructor(
    layout: Layout,
    depth = 0,
    colon = FixedFrame.of(layout.colon, undefined, COLON)!,
    outer?: LineBreaks,
  ) {
    const { indent } = layout
    this.#layout = layout
    this.depth = depth
    this.colon = colon
    this.open = layout.open(depth)
    this.between = layout.between(depth)
    this.close = layout.close(depth)
    if (indent === '') {
      this.afterComma = FixedFrame.of(this.between.slice(1))
    } else {
      this.closer = NEWLINE
      // Each depth only adds to the spaces of the one outside it.
      this.afterOpen = FixedFrame.of(indent, outer?.afterOpen)
      this.afterComma = FixedFrame.of('\n', this.afterOpen)
      const { array, object } = outer?.afterCloser ?? {}
      this.afterCloser = {
        array: FixedFrame.of(outer === undefined ? ']' : indent, array)!,
        object: FixedFrame.of(outer === undefined ? '}' : indent, object)!,
      }
    }
  }

  /** Those of a whole text: the same in all grammars. */
  static of(layout: Layout): LineBreaks {
    return getOrMake(outermost, layout, () => new LineBreaks(layout))
  }

  /** A frame before which white space may come, where the layout has any. */
  spaced(frame: Frame): Frame {
    const { blanks, kinds } = this.#layout
    return blanks === 0 ? frame : getOrMake(this.#spaced, frame, () => new BlankFrame(frame, blanks, kinds))
  }

  /** Those of what stands inside. */
  inside(): LineBreaks {
    return new LineBreaks(this.#layout, this.depth + 1, this.colon, this)
  }
}
