import type { Cell, Cells } from './cell.js'
import { type Bytes, ENDS, Frame } from './frame.js'

/** Values spelled out, as a prefix tree over their sorted texts that unfolds only where it is walked. */
export class LiteralFrame extends Frame {
  readonly #texts: readonly Bytes[]
  readonly #from: number
  readonly #to: number
  readonly #depth: number
  readonly #children = new Map<number, LiteralFrame | null>()
  #shortest: Bytes | undefined
  readonly #weigh: (text: Bytes) => number

  /** The texts from `from` up to `to`, which share their first `depth` bytes. */
  constructor(texts: readonly Bytes[], weigh: (text: Bytes) => number, from = 0, to = texts.length, depth = 0) {
    super(depth > 0 && texts[from]!.length === depth ? ENDS : 0)
    this.#texts = texts
    this.#weigh = weigh
    this.#from = from
    this.#to = to
    this.#depth = depth
  }

  override step(byte: number, below: Cell, out: Cells): void {
    let child = this.#children.get(byte)
    if (child === undefined) {
      child = this.#child(byte) ?? null
      this.#children.set(byte, child)
    }
    if (child !== null) out.add(child.ends && child.#to - child.#from === 1 ? below : below.push(child))
  }

  #child(byte: number): LiteralFrame | undefined {
    const letter = String.fromCharCode(byte)
    let from = this.#from
    while (from < this.#to && this.#texts[from]![this.#depth] !== letter) from++
    let to = from
    while (to < this.#to && this.#texts[to]![this.#depth] === letter) to++
    return from === to ? undefined : new LiteralFrame(this.#texts, this.#weigh, from, to, this.#depth + 1)
  }

  override next(_below: Cell, into: Set<number>): boolean {
    for (let i = this.#from; i < this.#to; i++) {
      if (this.#texts[i]!.length > this.#depth) into.add(this.#texts[i]!.charCodeAt(this.#depth))
    }
    return true
  }

  override get length(): number {
    return this.#least().length - this.#depth
  }

  /** Of the shortest text as a whole. */
  get weight(): number {
    return this.#weigh(this.#least())
  }

  override spell(): Bytes {
    return this.#least().slice(this.#depth)
  }

  /** The first of the shortest. */
  #least(): Bytes {
    if (this.#shortest === undefined) {
      let best = this.#texts[this.#from]!
      let least = this.#weigh(best)
      for (let i = this.#from + 1; i < this.#to; i++) {
        const weight = this.#weigh(this.#texts[i]!)
        if (weight >= least) continue
        best = this.#texts[i]!
        least = weight
      }
      this.#shortest = best
    }
    return this.#shortest
  }
}
