import { getOrMake } from '../../platform/index.js'
import { FixedFrame } from './fixed.js'
import { type Bytes, type Cell, type Cells, ENDS, Frame } from './frame.js'
import type { Headed, Rule } from './rule.js'

/** Options by the bytes that they begin with: a prefix tree that unfolds only where it is walked. */
export class HeadsFrame extends Frame {
  readonly #options: readonly Headed[]
  readonly #behind: (rest: Rule) => Frame | undefined
  readonly #from: number
  readonly #to: number
  readonly #depth: number
  /** Before this place the heads end here. */
  readonly #longer: number
  readonly #children = new Map<number, HeadsFrame | undefined>()
  #length: number | undefined

  /**
   * Options sorted by their heads; those from `from` up to `to` share their first `depth` bytes. `behind`: the frame of
   * what follows a head, asked for only where the head has come; undefined: nothing does.
   */
  constructor(
    options: readonly Headed[],
    behind: (rest: Rule) => Frame | undefined,
    from = 0,
    to = options.length,
    depth = 0,
  ) {
    let longer = from
    while (longer < to && options[longer]!.head.length === depth) longer++
    super(options.slice(from, longer).some(({ rest }) => rest.nullable) ? ENDS : 0)
    this.#options = options
    this.#behind = behind
    this.#from = from
    this.#to = to
    this.#depth = depth
    this.#longer = longer
  }

  override step(byte: number, below: Cell, out: Cells): void {
    for (let i = this.#from; i < this.#longer; i++) this.#rest(i)?.step(byte, below, out)
    const child = getOrMake(this.#children, byte, () => this.#unfold(byte))
    if (child === undefined) return
    const only = child.#from + 1 === child.#to ? this.#options[child.#from] : undefined
    if (only === undefined) {
      out.add(below.push(child))
      return
    }
    const rest = this.#behind(only.rest)
    const target = rest === undefined ? below : below.push(rest)
    const left = FixedFrame.of(only.head.slice(child.#depth))
    out.add(left === undefined ? target : target.push(left))
  }

  #rest(i: number): Frame | undefined {
    return this.#behind(this.#options[i]!.rest)
  }

  #unfold(byte: number): HeadsFrame | undefined {
    const from = this.#search(byte, this.#longer)
    const to = this.#search(byte + 1, from)
    return from === to ? undefined : new HeadsFrame(this.#options, this.#behind, from, to, this.#depth + 1)
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
    for (let i = this.#from; i < this.#longer; i++) if (this.#rest(i)?.next(below, into) === false) return false
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

  #lengthOf({ head, rest }: Headed): number {
    return head.length - this.#depth + rest.length
  }

  override spell(): Bytes {
    const { length } = this
    for (let i = this.#from; i < this.#to; i++) {
      const option = this.#options[i]!
      if (this.#lengthOf(option) === length) return option.head.slice(this.#depth) + (this.#rest(i)?.spell() ?? '')
    }
    throw new Error('options without a shortest text')
  }
}
