import { made } from '../kept.js'
import type { Cell, Cells } from './cell.js'
import { FixedFrame } from './fixed.js'
import { type Bytes, ENDS, Frame } from './frame.js'
import type { Headed } from './rule.js'

/** A head and the frame of what follows it, which is asked for only where the head has come; undefined: nothing does. */
export interface HeadedFrame {
  readonly head: Bytes
  readonly headed: Headed
  readonly rest: () => Frame | undefined
}

/** Options by the bytes that they begin with: a prefix tree that unfolds only where it is walked. */
export class HeadsFrame extends Frame {
  readonly #options: readonly HeadedFrame[]
  readonly #from: number
  readonly #to: number
  readonly #depth: number
  /** Before this place the heads end here. */
  readonly #longer: number
  readonly #children = new Map<number, HeadsFrame | undefined>()
  #length: number | undefined

  /** Options sorted by their heads; those from `from` up to `to` share their first `depth` bytes. */
  constructor(options: readonly HeadedFrame[], from = 0, to = options.length, depth = 0) {
    let longer = from
    while (longer < to && options[longer]!.head.length === depth) longer++
    super(options.slice(from, longer).some(({ headed }) => headed.rest.nullable) ? ENDS : 0)
    this.#options = options
    this.#from = from
    this.#to = to
    this.#depth = depth
    this.#longer = longer
  }

  override step(byte: number, below: Cell, out: Cells): void {
    for (let i = this.#from; i < this.#longer; i++) this.#options[i]!.rest()?.step(byte, below, out)
    const child = made(this.#children, byte, () => this.#unfold(byte))
    if (child === undefined) return
    const only = child.#from + 1 === child.#to ? this.#options[child.#from] : undefined
    if (only === undefined) {
      out.add(below.push(child))
      return
    }
    const rest = only.rest()
    const target = rest === undefined ? below : below.push(rest)
    const left = FixedFrame.of(only.head.slice(child.#depth))
    out.add(left === undefined ? target : target.push(left))
  }

  #unfold(byte: number): HeadsFrame | undefined {
    const from = this.#search(byte, this.#longer)
    const to = this.#search(byte + 1, from)
    return from === to ? undefined : new HeadsFrame(this.#options, from, to, this.#depth + 1)
  }

  /** The first place whose head has this byte here, or a higher one. */
  #search(byte: number, least: number): number {
    let [low, high] = [least, this.#to]
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#options[middle]!.head.charCodeAt(this.#depth) < byte) low = middle + 1
      else high = middle
    }
    return low
  }

  override next(below: Cell, into: Set<number>): boolean {
    for (let at = this.#longer; at < this.#to; ) {
      const byte = this.#options[at]!.head.charCodeAt(this.#depth)
      into.add(byte)
      at = this.#search(byte + 1, at)
    }
    for (let i = this.#from; i < this.#longer; i++)
      if (this.#options[i]!.rest()?.next(below, into) === false) return false
    return true
  }

  override get length(): number {
    if (this.#length === undefined) {
      let least = Number.POSITIVE_INFINITY
      for (let i = this.#from; i < this.#to; i++) least = Math.min(least, this.#lengthOf(this.#options[i]!))
      this.#length = least
    }
    return this.#length
  }

  #lengthOf({ head, headed }: HeadedFrame): number {
    return head.length - this.#depth + headed.rest.length
  }

  override spell(): Bytes {
    const { length } = this
    for (let i = this.#from; i < this.#to; i++) {
      const option = this.#options[i]!
      if (this.#lengthOf(option) === length) return option.head.slice(this.#depth) + (option.rest()?.spell() ?? '')
    }
    throw new Error('options without a shortest text')
  }
}
