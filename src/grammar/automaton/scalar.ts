import { getOrMake } from '../../platform/index.js'
import { encoded } from '../values/text-length.js'
import { noClass, type StringClass } from './content.js'
import { type Bytes, type Cell, type Cells, Frame, IN_STRING } from './frame.js'

/** Between two characters of a text: bytes become code points here, as UTF-8 has them. */
export abstract class ScalarFrame extends Frame {
  #parts: Map<number, Frame> | undefined

  /** Where one more code point leads; undefined if it is not allowed. */
  abstract after(codePoint: number): ScalarFrame | undefined

  /** Whether some code point in this range is allowed. */
  abstract alive(low: number, high: number): boolean

  /** The next code point of the shortest way; -1 where none need come. */
  abstract readonly onTheWay: number

  /** Code points between these that between them stand for all that are allowed there. */
  abstract samples(low: number, high: number): number[]

  /** The class of all these code points, if they all lead to one and the same place for it; else -1. */
  protected abstract common(low: number, high: number): number

  /** After a byte beyond ASCII, which begins a character; null if nothing allowed begins so. */
  protected lead(byte: number): Frame | null {
    if (byte < 0xc2 || byte > 0xf4) return null
    const left = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3
    return this.partial(byte & (0x3f >> left), left, left) ?? null
  }

  /** In the middle of a code point whose leading bits are `bits`; undefined if nothing allowed begins so. */
  partial(bits: number, left: number, size: number): Frame | undefined {
    const low = Math.max(bits << (6 * left), LEAST[size]!)
    const high = Math.min(((bits + 1) << (6 * left)) - 1, 0x10ffff)
    if (low > high || !this.#anyBut(low, high)) return undefined
    // Beginnings that may go on in all 64 ways, to characters of one class, are alike: the first one seen stands for all.
    const all = low === bits << (6 * left) && high - low === 64 ** left - 1
    const cls = all ? this.common(low, high) : -1
    const kind = cls < 0 ? bits : BEYOND_BITS + cls
    return this.part((kind * 4 + left) * 4 + size, () => new PartialFrame(this, bits, left, size))
  }

  #anyBut(low: number, high: number): boolean {
    if (low >= 0xd800 && high <= 0xdfff) return false
    return this.alive(low, high)
  }

  /** What stands inside one character, one object per place. */
  protected part(key: number, make: () => Frame): Frame {
    this.#parts ??= new Map()
    return getOrMake(this.#parts, key, make)
  }
}

/** The least code point that UTF-8 writes with so many continuation bytes. */
const LEAST = [0, 0x80, 0x800, 0x10000]
/** No leading bits reach this. */
const BEYOND_BITS = 2 ** 21

/** In the middle of a character or an escape: nothing passes before it is complete. */
export abstract class WithinFrame<Base extends ScalarFrame> extends Frame {
  readonly base: Base
  #class: StringClass | undefined

  constructor(base: Base) {
    super(base.traits & IN_STRING)
    this.base = base
  }

  get class(): StringClass {
    this.#class ??= noClass()
    return this.#class
  }

  abstract override move(byte: number): Frame | null

  override step(byte: number, below: Cell, out: Cells): void {
    const next = this.move(byte)
    if (next !== null) out.add(below.push(next))
  }
}

class PartialFrame extends WithinFrame<ScalarFrame> {
  readonly #bits: number
  readonly #left: number
  readonly #size: number
  #found: number | undefined

  constructor(base: ScalarFrame, bits: number, left: number, size: number) {
    super(base)
    this.#bits = bits
    this.#left = left
    this.#size = size
  }

  override move(byte: number): Frame | null {
    if ((byte & 0xc0) !== 0x80) return null
    const bits = (this.#bits << 6) | (byte & 0x3f)
    const left = this.#left - 1
    return (left === 0 ? this.#whole(bits) : this.base.partial(bits, left, this.#size)) ?? null
  }

  #whole(codePoint: number): ScalarFrame | undefined {
    const wellFormed = codePoint >= LEAST[this.#size]! && codePoint <= 0x10ffff && (codePoint & ~0x7ff) !== 0xd800
    return wellFormed ? this.base.after(codePoint) : undefined
  }

  override next(_below: Cell, into: Set<number>): boolean {
    for (let byte = 0x80; byte < 0xc0; byte++) if (this.move(byte) !== null) into.add(byte)
    return true
  }

  override get length(): number {
    return this.#left + this.base.after(this.#sample())!.length
  }

  override spell(): Bytes {
    const sample = this.#sample()
    return encoded(sample).slice(-this.#left) + this.base.after(sample)!.spell()
  }

  #sample(): number {
    this.#found ??= this.#best()
    return this.#found
  }

  /** The code point that begins so and lies on the shortest way, or else has the shortest one. */
  #best(): number {
    const low = Math.max(this.#bits << (6 * this.#left), LEAST[this.#size]!)
    const high = ((this.#bits + 1) << (6 * this.#left)) - 1
    const likely = this.base.onTheWay
    if (likely >= low && likely <= high) return likely
    let best = -1
    let length = Infinity
    for (const codePoint of this.base.samples(low, high)) {
      const after = this.#whole(codePoint)
      if (after !== undefined && (best < 0 || after.length < length)) {
        best = codePoint
        length = after.length
      }
    }
    return best
  }
}
