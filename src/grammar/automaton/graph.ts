import { getOrMake } from '../../platform/index.js'
import { type GraphNode, type GraphStep, type ObjectGraph, ObjectShape, type Take } from '../values/value.js'
import { type Bytes, type Cell, type Cells, Frame } from './frame.js'
import type { Frames, MembersPlace, WeighedFrame } from './frames.js'
import { keyBytes } from './key-bytes.js'
import { DeclaredKeyFrame, type DeclaredKeys, type KeyCandidate } from './key-declared.js'

const NEWLINE = 0x0a
const QUOTE = 0x22
const COMMA = 0x2c

/** All places between the declared members of the objects of one graph, at one depth. */
export class GraphFrames {
  readonly graph: ObjectGraph
  readonly program: Frames
  readonly spelled: readonly Bytes[]
  readonly #states = new Map<string, GraphState>()

  constructor(graph: ObjectGraph, program: Frames) {
    this.graph = graph
    this.program = program
    this.spelled = graph.keys.map(keyBytes)
  }

  get start(): WeighedFrame {
    return this.state(this.graph.start, 0).open
  }

  state(node: GraphNode, count: number): GraphState {
    const capped = this.graph.cap(count)
    return getOrMake(this.#states, `${node.id},${capped}`, () => new GraphState(this, node, capped))
  }
}

class GraphState implements DeclaredKeys {
  readonly home: GraphFrames
  readonly node: GraphNode
  readonly count: number
  readonly open: GraphFrame
  readonly after: GraphFrame
  readonly beforeKey: GraphFrame
  #takes: ReadonlyMap<number, readonly Take[]> | undefined
  #declared: readonly KeyCandidate[] | undefined
  #inKey: DeclaredKeyFrame | undefined
  #tails: readonly Pick<MembersPlace, 'open' | 'after'>[] | undefined

  constructor(home: GraphFrames, node: GraphNode, count: number) {
    this.home = home
    this.node = node
    this.count = count
    this.open = new GraphFrame(this, 'open')
    this.after = new GraphFrame(this, 'after')
    this.beforeKey = new GraphFrame(this, 'key')
  }

  get program(): Frames {
    return this.home.program
  }

  /** The members that may come next, by the places of their keys. */
  get takes(): ReadonlyMap<number, readonly Take[]> {
    if (this.#takes === undefined) {
      const { graph } = this.home
      const found = new Map<number, readonly Take[]>()
      for (let at: GraphNode | undefined = this.node; at !== undefined; at = at.skip) {
        const { index } = at
        const takes = at.takes.filter((take) => graph.weigh(index, take, this.count) !== Infinity)
        if (takes.length > 0) found.set(index, takes)
      }
      this.#takes = found
    }
    return this.#takes
  }

  get declared(): readonly KeyCandidate[] {
    if (this.#declared === undefined) {
      const found = [...this.takes.keys()].map((index) => ({ bytes: this.home.spelled[index]!, index }))
      this.#declared = found.sort((a, b) => (a.bytes < b.bytes ? -1 : 1))
    }
    return this.#declared
  }

  get inKey(): DeclaredKeyFrame {
    this.#inKey ??= new DeclaredKeyFrame(this, 0, this.declared.length, 0)
    return this.#inKey
  }

  /** How the object may go on without any more declared key. */
  get tails(): readonly Pick<MembersPlace, 'open' | 'after'>[] {
    if (this.#tails === undefined) {
      let at = this.node
      while (at.skip !== undefined) at = at.skip
      const states = at.tails.map((tail) => this.#behind(tail))
      this.#tails = states.filter((state) => state.plan.length !== Infinity)
    }
    return this.#tails
  }

  #behind(tail: ObjectShape) {
    const frames = this.program.tail(tail)
    return frames.state(tail.properties.length, this.count, frames.start.used, 0, false)
  }

  await(index: number, below: Cell, out: Cells): void {
    const { program } = this
    const { breaks } = program
    for (const { value, next } of this.takes.get(index)!) {
      const after = below.push(breaks.spaced(this.#following(next).after))
      out.add(after.push(breaks.spaced(program.inside.value(value))).push(breaks.spaced(breaks.colon)))
    }
  }

  weightBehind(index: number): number {
    return this.#weightOf(this.#cheapest(index))
  }

  spellBehind(index: number): Bytes {
    const { value, next } = this.#cheapest(index)
    const { layout, inside } = this.program
    return layout.colon + inside.value(value).spell() + this.#following(next).after.spell()
  }

  /** The shortest way on. */
  spell(phase: 'open' | 'after' | 'key'): Bytes {
    const step: GraphStep = this.home.graph.best(this.node, this.count, phase === 'key')!
    if (step instanceof ObjectShape) return this.#behind(step)[phase === 'open' ? 'open' : 'after'].spell()
    const { open, between } = this.program.breaks
    const before = phase === 'key' ? '' : phase === 'open' ? open : between
    return `${before}"${this.home.spelled[step.index]!}${this.spellBehind(step.index)}`
  }

  #cheapest(index: number): Take {
    return this.takes.get(index)!.reduce((a, b) => (this.#weightOf(b) < this.#weightOf(a) ? b : a))
  }

  #weightOf({ value, next }: Take): number {
    const { layout } = this.program
    return layout.colon.length + layout.inside(value.length) + this.#following(next).after.weight
  }

  #following(next: GraphNode): GraphState {
    return this.home.state(next, this.count + 1)
  }
}

/** After `{`, after a value, or before a key. */
class GraphFrame extends Frame {
  readonly #state: GraphState
  readonly #phase: 'open' | 'after' | 'key'

  constructor(state: GraphState, phase: 'open' | 'after' | 'key') {
    super()
    this.#state = state
    this.#phase = phase
  }

  override step(byte: number, below: Cell, out: Cells): void {
    const phase = this.#phase
    const state = this.#state
    if (phase !== 'key') for (const tail of state.tails) tail[phase].step(byte, below, out)
    if (byte !== this.#opener || state.declared.length === 0) return
    if (byte === QUOTE) {
      out.add(below.push(state.inKey))
      return
    }
    const { breaks } = state.program
    const between = byte === COMMA ? breaks.afterComma : breaks.afterOpen
    const cell = below.push(breaks.spaced(state.beforeKey))
    out.add(between === undefined ? cell : cell.push(between))
  }

  /** The byte that leads to one more member. */
  get #opener(): number {
    if (this.#phase === 'after') return COMMA
    return this.#phase === 'open' && this.#state.program.breaks.open !== '' ? NEWLINE : QUOTE
  }

  override next(below: Cell, into: Set<number>): boolean {
    const state = this.#state
    if (state.declared.length > 0) into.add(this.#opener)
    const phase = this.#phase
    return phase === 'key' || state.tails.every((tail) => tail[phase].next(below, into))
  }

  /** See `Layout`: as seen from where the object stands. */
  get weight(): number {
    const { home, node, count, declared } = this.#state
    const { graph } = home
    if (this.#phase !== 'key') return graph.rest(node, count)
    return declared.reduce(
      (best, { bytes, index }) => Math.min(best, 1 + bytes.length + this.#state.weightBehind(index)),
      Infinity,
    )
  }

  override get length(): number {
    return this.#state.program.length(this.weight)
  }

  override spell(): Bytes {
    return this.#state.spell(this.#phase)
  }
}
