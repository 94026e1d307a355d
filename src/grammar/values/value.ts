/** The values that an automaton reads: arrays and objects of values, which is why all of them stand in one file. */
import type { TextAutomaton } from '../automata/types.js'
import type { Fuel } from '../fuel.js'
import type { SchemaError } from '../schema-error.js'
import type { Layout } from './format.js'

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

/** How an array goes on: one more item, counted as contained or not, or, where no two may be alike, which one. */
export type ArrayStep = 'plain' | 'counted' | number

/** The arrays of one part: what may come at a place, which is how many items there are so far, and a tally. */
export interface ArrayShape {
  readonly min: number
  readonly max: number
  /** Raised if such an array can occur at all. Known once its items are. */
  readonly obstacle: SchemaError | undefined
  /** Where the items are texts of which none comes twice: those. Known once the items are. */
  readonly set: ObjectShape | undefined
  /** Whether no item may come twice, and two that look different are different. Known once the items are. */
  readonly distinct: boolean
  /** Whether a place knows what may follow, without the automaton's being told what came. */
  readonly needsNoTelling: boolean
  /** How many positions there are that differ. */
  readonly positions: number
  /** Every value that may stand in such an array. */
  readonly values: readonly Value[]
  value(index: number, step: ArrayStep): Value
  /** Positions that behave alike are one. */
  clamp(index: number): number
  clampTally(contained: number): number
  /** The tally after such an item. */
  tally(contained: number, step: ArrayStep): number
  /** The items that may come next. */
  steps(index: number, contained: number): ArrayStep[]
  canStop(index: number, contained: number): boolean
  /** The weight of what is still to come up to and including `]`; `Infinity` if there is no way to it. */
  rest(index: number, contained: number): number
  /** The first step of the shortest way on; undefined: stop. */
  best(index: number, contained: number): ArrayStep | undefined
  /** The lengths of the items have changed. */
  forget(): void
}

export interface Property {
  readonly key: string
  readonly value: Value
  readonly required: boolean
  /** Bytes of the key with its quotes and colon. */
  readonly head: number
}

/** The objects of one part: declared properties in their order, then any others. */
export class ObjectShape {
  readonly properties: readonly Property[]
  /** Keys that are required and not declared; they may come in any order among the others. */
  readonly pending: readonly string[]
  readonly keys: KeySource
  readonly min: number
  readonly max: number
  readonly layout: Layout
  /** Raised if such an object can occur at all. */
  readonly obstacle: SchemaError | undefined
  /** Raised wherever such an object could stand: whether it can be completed is not known. */
  readonly tooMany: SchemaError | undefined
  /** Its members are texts of which none comes twice, in brackets: keys without values. */
  readonly isSet: boolean
  /** Behind the declared keys there must come one of these keys, and then what that shape says. */
  readonly first: ObjectShape | undefined
  /** Behind one of these keys, which must come, the object goes on so. */
  readonly behind: ObjectShape | undefined

  constructor(
    part: { readonly minProperties: number; readonly maxProperties: number },
    properties: readonly Property[],
    pending: readonly string[],
    keys: KeySource,
    layout: Layout,
    obstacle: SchemaError | undefined,
    tooMany: SchemaError | undefined,
    isSet = false,
    { first, behind }: { readonly first?: ObjectShape; readonly behind?: ObjectShape } = {},
  ) {
    this.isSet = isSet
    this.first = first
    this.behind = behind
    this.properties = properties
    this.pending = pending
    this.keys = keys
    this.min = part.minProperties
    this.max = part.maxProperties
    this.layout = layout
    this.obstacle = obstacle
    this.tooMany = tooMany
  }

  /** Between a key and its value. */
  get colon(): string {
    return this.isSet ? '' : this.layout.colon
  }

  get values(): readonly Value[] {
    const others = [this.first, this.behind].flatMap((shape) => shape?.values ?? [])
    return [...this.properties.map((property) => property.value), ...this.keys.values, ...others]
  }
}

/** The keys beyond the declared ones: which there may be, and which value follows each. */
export interface KeyAutomaton {
  /** Trimmed to keys that some value can follow. */
  readonly text: TextAutomaton
  /** Those that may follow some key. */
  readonly values: readonly Value[]
  /** The value that follows a key that ends in this state; undefined where none may end. */
  value(state: number): Value | undefined
}

/** Keys whose values may not have been measured yet. */
export interface KeySource {
  /** Every value that may follow some key. */
  readonly values: readonly Value[]
  /** Trimmed by what is now known of the values. */
  now(): KeyAutomaton
}

/** Before one of the declared keys, with what has come so far; or behind them all. */
export interface GraphNode {
  readonly id: number
  readonly index: number
  /** Without this key. */
  readonly skip: GraphNode | undefined
  /** With it: what its value may be, and how the object goes on then. */
  readonly takes: readonly Take[]
  /** Behind the declared keys: what else there may be. */
  readonly tails: readonly ObjectShape[]
}

export interface Take {
  readonly value: Value
  readonly next: GraphNode
}

/** A way on from a node: a declared key by its place, or what may stand behind them all. */
export type GraphStep = { readonly index: number; readonly take: Take } | ObjectShape

/** Objects whose alternatives are told apart member by member. */
export interface ObjectGraph {
  readonly keys: readonly string[]
  readonly layout: Layout
  readonly start: GraphNode
  readonly values: readonly Value[]
  readonly tails: readonly ObjectShape[]
  readonly size: number
  cap(count: number): number
  /** The weight of what is still to come, `}` included; `Infinity` where there is no way to it. */
  rest(node: GraphNode, count: number, fuel?: Fuel): number
  /** The first step of the shortest way on; `declared`: by a declared key. */
  best(node: GraphNode, count: number, declared?: boolean): GraphStep | undefined
  /** The weight of the way by such a member. */
  weigh(index: number, take: Take, count: number): number
  /** The lengths of values have changed. */
  forget(): void
}
