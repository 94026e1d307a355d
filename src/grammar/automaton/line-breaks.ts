import { made } from '../kept.js'
import type { Layout } from '../values/format.js'
import { BlankFrame } from './blank.js'
import { FixedFrame } from './fixed.js'
import type { Bytes, Frame } from './frame.js'

const NEWLINE = 0x0a

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

  constructor(layout: Layout, depth = 0, colon = FixedFrame.of(layout.colon)!, outer?: LineBreaks) {
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

  /** A frame before which white space may come, where the layout has any. */
  spaced(frame: Frame): Frame {
    const { blanks, kinds } = this.#layout
    return blanks === 0 ? frame : made(this.#spaced, frame, () => new BlankFrame(frame, blanks, kinds))
  }

  /** Those of what stands inside. */
  inside(): LineBreaks {
    return new LineBreaks(this.#layout, this.depth + 1, this.colon, this)
  }
}
