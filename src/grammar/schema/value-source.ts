import type { TextAutomaton } from '../automata/types.js'
import type { SchemaError } from '../schema-error.js'
import type { Value } from '../values/value.js'
import type { Context } from './context.js'
import type { Atom, SchemaPart } from './part.js'

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
