import { Branches } from './branches.js'
import type { Cell, Cells } from './cell.js'
import { type Bytes, Frame } from './frame.js'
import type { ObjectState } from './object-state.js'

export interface KeyCandidate {
  /** The spelling, closing quote included. */
  readonly bytes: Bytes
  readonly index: number
}

/** Inside a declared key: those of the state's candidates from `from` up to `to`, which share `depth` bytes. */
export class DeclaredKeyFrame extends Frame {
  readonly #state: ObjectState
  readonly #from: number
  readonly #to: number
  readonly #depth: number
  #children: Branches<DeclaredKeyFrame | null> | undefined
  #best: KeyCandidate | undefined

  constructor(state: ObjectState, from: number, to: number, depth: number) {
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
    else out.add(this.#state.member(candidate.index, below))
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
    return this.#state.home.program.length(this.#cost(this.#cheapest()))
  }

  override spell(): Bytes {
    const { index, bytes } = this.#cheapest()
    const { program, shape } = this.#state.home
    const value = program.inside.value(shape.properties[index]!.value).spell()
    return bytes.slice(this.#depth) + program.layout.colon + value + this.#state.afterDeclared(index).after.spell()
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
    const { program, shape } = this.#state.home
    const { layout } = program
    const own = bytes.length - this.#depth + layout.colon.length + layout.inside(shape.properties[index]!.value.length)
    return own + this.#state.afterDeclared(index).after.weight
  }
}
