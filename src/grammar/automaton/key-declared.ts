import { Branches } from '../kept.js'
import { type Bytes, type Cell, type Cells, Frame } from './frame.js'
import type { Frames } from './frames.js'

export interface KeyCandidate {
  /** The spelling, closing quote included. */
  readonly bytes: Bytes
  readonly index: number
}

/** Where declared keys may come, and how the object goes on behind each. */
export interface DeclaredKeys {
  /** Sorted by their spelling. */
  readonly declared: readonly KeyCandidate[]
  readonly program: Frames
  /** Adds where the value of this one is awaited, its colon still to come. */
  await(index: number, below: Cell, out: Cells): void
  /** The weight of its colon, its value and all that follows. */
  weightBehind(index: number): number
  spellBehind(index: number): Bytes
}

/** Inside a declared key: those of the state's candidates from `from` up to `to`, which share `depth` bytes. */
export class DeclaredKeyFrame extends Frame {
  readonly #state: DeclaredKeys
  readonly #from: number
  readonly #to: number
  readonly #depth: number
  #children: Branches<DeclaredKeyFrame | null> | undefined
  #best: KeyCandidate | undefined

  constructor(state: DeclaredKeys, from: number, to: number, depth: number) {
    super()
    this.#state = state
    this.#from = from
    this.#to = to
    this.#depth = depth
  }

  override step(byte: number, below: Cell, out: Cells): void {
    this.#children ??= new Branches()
    let child = this.#children.get(byte)
    if (child === undefined) {
      child = this.#child(byte) ?? null
      this.#children.set(byte, child)
    }
    if (child === null) return
    const candidate = this.#state.declared[child.#from]!
    if (candidate.bytes.length > child.#depth) out.add(below.push(child))
    else this.#state.await(candidate.index, below, out)
  }

  #child(byte: number): DeclaredKeyFrame | undefined {
    const { declared } = this.#state
    let from = this.#from
    while (from < this.#to && declared[from]!.bytes.charCodeAt(this.#depth) !== byte) from++
    let to = from
    while (to < this.#to && declared[to]!.bytes.charCodeAt(this.#depth) === byte) to++
    return from === to ? undefined : new DeclaredKeyFrame(this.#state, from, to, this.#depth + 1)
  }

  override next(_below: Cell, into: Set<number>): boolean {
    for (let i = this.#from; i < this.#to; i++) into.add(this.#state.declared[i]!.bytes.charCodeAt(this.#depth))
    return true
  }

  override get length(): number {
    return this.#state.program.length(this.#cost(this.#cheapest()))
  }

  override spell(): Bytes {
    const { index, bytes } = this.#cheapest()
    return bytes.slice(this.#depth) + this.#state.spellBehind(index)
  }

  #cheapest(): KeyCandidate {
    if (this.#best === undefined) {
      const { declared } = this.#state
      let best = declared[this.#from]!
      for (let i = this.#from + 1; i < this.#to; i++) {
        const [a, b] = [this.#cost(declared[i]!), this.#cost(best)]
        // Of equal ones the first declared, as the plan has it that led here.
        if (a < b || (a === b && declared[i]!.index < best.index)) best = declared[i]!
      }
      this.#best = best
    }
    return this.#best
  }

  #cost({ bytes, index }: KeyCandidate): number {
    return bytes.length - this.#depth + this.#state.weightBehind(index)
  }
}
