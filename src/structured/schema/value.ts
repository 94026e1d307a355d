import type { TextAutomaton } from '../text/types.js'
import type { ArrayShape } from './array-shape.js'
import type { ObjectShape } from './object-shape.js'

/** What the automaton runs on: a set of JSON values, as alternatives without conditions. */
export class Value {
  readonly id: number
  /** Spelled out one by one; `null` and the booleans are among them. */
  literals: readonly unknown[] = []
  numbers: readonly TextAutomaton[] = []
  strings: readonly TextAutomaton[] = []
  arrays: readonly ArrayShape[] = []
  objects: readonly ObjectShape[] = []
  /** The weight of the shortest text, see `Layout`; `Infinity` when there is none. */
  length = Infinity

  constructor(id: number) {
    this.id = id
  }

  get possible(): boolean {
    return this.length !== Infinity
  }
}
