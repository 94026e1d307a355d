import type { TextAutomaton } from '../automata/types.js'
import type { Layout } from '../values/format.js'
import type { ArrayShape, ObjectGraph, ObjectShape, Value } from '../values/value.js'
import type { Frame } from './frame.js'
import type { LineBreaks } from './line-breaks.js'
import type { ObjectFrames } from './object-home.js'
import type { ObjectNames } from './object-names.js'

/** A frame that also knows the weight of its shortest way, see `Layout`. */
export interface WeighedFrame extends Frame {
  readonly weight: number
}

/** Where frames get others from: the one `Program` has them all, and no kind of frame needs to know the other kinds. */
export interface Frames {
  readonly layout: Layout
  readonly breaks: LineBreaks
  /** For what stands inside the objects and arrays of this one; where depth does not show, the same. */
  readonly inside: Frames
  /** The same with no numbers but those of which two that look different are different. */
  readonly exact: Frames
  /** How long a text of this weight is here. */
  length(weight: number): number
  value(value: Value): WeighedFrame
  text(text: TextAutomaton): { at(state: number): Frame }
  number(text: TextAutomaton): Frame
  array(shape: ArrayShape): { at(index: number, tally: number): Frame }
  names(shape: ObjectShape): ObjectNames
  /** After `{`; undefined if no such object can be completed. */
  object(shape: ObjectShape): WeighedFrame | undefined
  /** The same of a graph. */
  graph(graph: ObjectGraph): WeighedFrame | undefined
  /** What may stand behind keys that are decided. */
  tail(shape: ObjectShape): ObjectFrames
  /** Undefined where nothing is spelled out. */
  literal(value: Value): WeighedFrame | undefined
}
