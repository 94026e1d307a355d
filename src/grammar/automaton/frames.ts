import type { TextAutomaton } from '../automata/types.js'
import type { Layout } from '../values/format.js'
import type { ObjectPlan } from '../values/object-plan.js'
import type { ArrayShape, KeyAutomaton, ObjectGraph, ObjectShape, Value } from '../values/value.js'
import type { Bytes, Cell, Cells, Frame } from './frame.js'
import type { LineBreaks } from './line-breaks.js'
import type { ObjectNames } from './object-names.js'
import type { UsedKeys } from './used-keys.js'

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
  tail(shape: ObjectShape): ObjectHome
  /** Undefined where nothing is spelled out. */
  literal(value: Value): WeighedFrame | undefined
}

/** All places inside the objects of one shape, at one depth. */
export interface ObjectHome {
  readonly shape: ObjectShape
  readonly program: Frames
  readonly names: ObjectNames
  readonly keys: KeyAutomaton
  readonly start: MembersPlace
  /** How the object goes on behind a key that must come. */
  readonly behind: ObjectHome | undefined
  state(index: number, count: number, used: UsedKeys, pending: number, unresolved: boolean): MembersPlace
  /** What follows a key. */
  value(value: Value): Pick<WeighedFrame, 'weight' | 'spell'>
  /** Whether an object can be completed from such a place; most need no plan to know. */
  canComplete(index: number, count: number, used: UsedKeys, pending: number): boolean
  /** The key that the shortest way takes next beyond the declared ones; it stands in for one that is not known yet. */
  freshKey(used: UsedKeys): string | undefined
}

/** Between two members of an object, as the frames around it and those of its keys see it. */
export interface MembersPlace {
  readonly home: ObjectHome
  readonly count: number
  readonly pending: number
  readonly used: UsedKeys
  /** The last key is used but not known here: the automaton does not carry texts. See `resolve`. */
  readonly unresolved: boolean
  readonly open: WeighedFrame
  readonly after: WeighedFrame
  readonly canClose: boolean
  readonly hasKeys: boolean
  readonly plan: ObjectPlan
  /** Before a key one more member must come, even where the shortest way would close. */
  readonly keyPlan: ObjectPlan
  /** The frames of keys that are not declared. */
  readonly extraFrames: Map<string | number, Frame | null>
  /** Whether any key beyond the declared ones may come next, and not only one that is required. */
  readonly admitsAnyExtra: boolean
  readonly planned: readonly Bytes[]
  /** The keys that an undeclared one is held against while it is read, sorted. */
  readonly knownKeys: readonly Bytes[]
  /** The state once the unknown key is known. */
  resolve(key: string): MembersPlace
  /** After the quote that opens a key. */
  addKeys(below: Cell, out: Cells): void
  beforeKey(below: Cell, between: Frame | undefined): Cell
  /** Whether this key is required, has not come yet and may come now. */
  owes(bytes: Bytes): boolean
  extraMember(value: Value, pending: number, below: Cell): Cell
  afterExtra(pending: number): MembersPlace
  behindKey(key: string | undefined): MembersPlace
  longestExtra(more: number): number
  longestAnyExtra(similar: number): number
  /** The shortest way on, which takes one more member. */
  spell(member: number | string): Bytes
}
