import { getOrMake } from '../../platform/index.js'
import { withLength } from '../automata/lengths.js'
import type { TextAutomaton } from '../automata/types.js'
import { type Layout, toBytes, write } from '../values/format.js'
import { EXACT_LETTERS } from '../values/text-length.js'
import type { ArrayShape, ObjectGraph, ObjectShape, Value } from '../values/value.js'
import { ArrayFrames } from './array.js'
import { DistinctFrames } from './distinct.js'
import type { Frame } from './frame.js'
import type { Frames, WeighedFrame } from './frames.js'
import { GraphFrames } from './graph.js'
import { LineBreaks } from './line-breaks.js'
import { LiteralFrame, withBlanks } from './literal.js'
import { NumberFrame } from './number.js'
import { ObjectFrames } from './object-home.js'
import { ObjectNames } from './object-names.js'
import { TextFrames } from './text.js'
import { ValueFrame } from './value.js'

/** The frames of one grammar at one depth, each made when the automaton first comes to it. */
export class FrameTable implements Frames {
  readonly layout: Layout
  readonly breaks: LineBreaks
  readonly #shared: Shared
  readonly #values = new Map<Value, ValueFrame>()
  readonly #arrays = new Map<ArrayShape, { at(index: number, tally: number): Frame }>()
  readonly #objects = new Map<ObjectShape, ObjectFrames>()
  readonly #graphs = new Map<ObjectGraph, GraphFrames>()
  readonly #literals = new Map<Value, LiteralFrame>()
  #inside: FrameTable | undefined
  #exact: FrameTable | undefined

  constructor(layout: Layout, breaks = LineBreaks.of(layout), shared = new Shared()) {
    this.layout = layout
    this.breaks = breaks
    this.#shared = shared
  }

  get inside(): FrameTable {
    if (this.layout.indent === '') return this
    this.#inside ??= new FrameTable(this.layout, this.breaks.inside(), this.#shared)
    return this.#inside
  }

  get exact(): FrameTable {
    if (this.#shared.exact) return this
    this.#exact ??= new FrameTable(this.layout, this.breaks, new Shared(true))
    return this.#exact
  }

  /** Drops what is deeper; frames in use stay valid. */
  forget(): void {
    this.#inside = undefined
    this.#exact = undefined
  }

  length(weight: number): number {
    return this.layout.length(weight, this.breaks.depth)
  }

  value(value: Value): ValueFrame {
    return getOrMake(this.#values, value, () => new ValueFrame(value, this))
  }

  text(text: TextAutomaton): TextFrames {
    return TextFrames.of(text)
  }

  number(text: TextAutomaton): NumberFrame {
    return getOrMake(this.#shared.numbers, text, () => {
      const all = this.#shared.exact ? withLength(text, 0, EXACT_LETTERS) : text
      return new NumberFrame(all, all.start, new Map())
    })
  }

  array(shape: ArrayShape): { at(index: number, tally: number): Frame } {
    return getOrMake(this.#arrays, shape, () => {
      if (shape.distinct) return new DistinctFrames(shape, this)
      if (shape.set === undefined) return new ArrayFrames(shape, this)
      const { open } = new ObjectFrames(shape.set, this).start
      return { at: () => open }
    })
  }

  names(shape: ObjectShape): ObjectNames {
    return getOrMake(this.#shared.names, shape, () => new ObjectNames(shape))
  }

  object(shape: ObjectShape): WeighedFrame | undefined {
    const { start } = this.tail(shape)
    return start.plan.length === Infinity ? undefined : start.open
  }

  tail(shape: ObjectShape): ObjectFrames {
    return getOrMake(this.#objects, shape, () => new ObjectFrames(shape, this))
  }

  graph(graph: ObjectGraph): WeighedFrame | undefined {
    if (graph.rest(graph.start, 0) === Infinity) return undefined
    return getOrMake(this.#graphs, graph, () => new GraphFrames(graph, this)).start
  }

  literal(value: Value): LiteralFrame | undefined {
    if (value.literals.length === 0) return undefined
    const flat = value.literals.every((literal) => typeof literal !== 'object' || literal === null)
    return getOrMake(flat ? this.#shared.literals : this.#literals, value, () => this.#spelled(value))
  }

  #spelled({ literals }: Value): LiteralFrame {
    const { depth } = this.breaks
    const blanks = this.layout.blanks > 0
    const texts = literals.map((literal) => {
      const text = toBytes(write(literal, this.layout, depth))
      return blanks ? withBlanks(text) : text
    })
    return new LiteralFrame(texts.sort(), this.breaks, (text) => this.layout.weigh(text, depth))
  }
}

/** What is the same at every depth. */
class Shared {
  readonly exact: boolean
  readonly numbers = new Map<TextAutomaton, NumberFrame>()
  readonly literals = new Map<Value, LiteralFrame>()
  readonly names = new Map<ObjectShape, ObjectNames>()

  constructor(exact = false) {
    this.exact = exact
  }
}
