import type { TextAutomaton } from '../automata/types.js'
import type { SchemaError } from '../schema-error.js'
import type { ArrayShape } from './array-shape.js'
import type { Context } from './context.js'
import type { ObjectGraph } from './object-graph.js'
import type { ObjectShape } from './object-shape.js'
import type { Atom, SchemaPart } from './part.js'

/** What the automaton runs on: a set of JSON values, as alternatives without conditions. */
export class Value {
  readonly id: number
  /** Spelled out one by one; `null` and the booleans are among them. */
  literals: readonly unknown[] = []
  numbers: readonly TextAutomaton[] = []
  strings: readonly TextAutomaton[] = []
  arrays: readonly ArrayShape[] = []
  objects: readonly ObjectShape[] = []
  /** Objects of too many shapes to be held one by one. */
  graph: ObjectGraph | undefined
  /** The weight of the shortest text, see `Layout`; `Infinity` when there is none. */
  length = Infinity

  constructor(id: number) {
    this.id = id
  }

  get possible(): boolean {
    return this.length !== Infinity
  }
}

/** Where the values of subschemas come from; what arrays and objects are made of asks it for those of their members. */
export interface ValueSource {
  readonly context: Context
  /** No value at all. */
  readonly never: Value
  /** The values that satisfy all of these. */
  of(atoms: readonly Atom[]): Value
  /** The texts among these values, which is all that matters for a property's name. */
  textsOf(atoms: readonly Atom[]): TextAutomaton
  /** What keeps the part's values of a kind from being described. */
  obstacleOf(part: SchemaPart, kind: number): SchemaError | undefined
}
