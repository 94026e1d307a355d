import type { TextAutomaton } from '../automata/types.js'
import type { SchemaError } from '../schema-error.js'
import type { Site } from './document.js'

/** Bits for the kinds of JSON value; the two booleans apart, so that `const` and `not` can tell them. */
export const NULL = 1
export const FALSE = 2
export const TRUE = 4
export const NUMBER = 8
export const STRING = 16
export const ARRAY = 32
export const OBJECT = 64
export const ANY = 127

/** A subschema or its negation: what a value is said to satisfy. */
export interface Atom {
  readonly id: number
  readonly site: Site
  readonly negated: boolean
}

export interface NumberBounds {
  integer: boolean
  minimum: number
  exclusiveMinimum: number
  maximum: number
  exclusiveMaximum: number
  multiples: number[]
  /** No multiples of these; integers are those of 1. */
  denied: number[]
}

/** What one schema object says of properties. `additional` covers what the other two leave over. */
export interface PropertyGroup {
  readonly properties: ReadonlyMap<string, Atom>
  readonly patterns: readonly { readonly automaton: TextAutomaton; readonly atom: Atom }[]
  readonly additional: Atom | undefined
  /** Said by a denial: its keys come behind those that the schema declares. */
  readonly aside?: true
}

/** What is said of some properties beside what the schema declares. */
export function aside(properties: ReadonlyMap<string, Atom>): PropertyGroup {
  return { properties, patterns: [], additional: undefined, aside: true }
}

export interface ItemGroup {
  readonly prefix: readonly Atom[]
  readonly rest: Atom | undefined
}

export interface Contains {
  readonly atom: Atom
  readonly inverse: Atom
  readonly min: number
  readonly max: number
  /** Items before this place do not count. */
  readonly from?: number
}

/** That some member must be such: what a closed object, a pattern or a rule for names is broken by. */
export interface WantedMember {
  has(key: string): boolean
  /** The keys of which that is true. */
  keys(textsOf: (atoms: readonly Atom[]) => TextAutomaton): TextAutomaton
  readonly value: Atom
  /** Raised where a key that nobody declared could be the one, and it cannot be told. */
  readonly error: SchemaError
}

/** Whether at most is said that they are integers. */
export function isUnbounded({ minimum, exclusiveMinimum, maximum, exclusiveMaximum, multiples, denied }: NumberBounds) {
  const low = minimum === -Infinity && exclusiveMinimum === -Infinity
  return low && maximum === Infinity && exclusiveMaximum === Infinity && multiples.length + denied.length === 0
}

function copied<T>(list: T[]): T[] {
  return list.length > 0 ? list.slice() : []
}

/** Places by keyword, on top of those that were known before. */
class Places {
  readonly #before: Places | undefined
  #own: Map<string, Site> | undefined

  constructor(before?: Places) {
    // One that says nothing is passed over, so that chains stay short.
    this.#before = before !== undefined && before.#own === undefined ? before.#before : before
  }

  get(keyword: string): Site | undefined {
    return this.#own?.get(keyword) ?? this.#before?.get(keyword)
  }

  set(keyword: string, site: Site): void {
    this.#own ??= new Map()
    this.#own.set(keyword, site)
  }
}

/**
 * One conjunction of plain constraints, without alternatives. Constraints on a kind bind only values of that kind, so a
 * part may admit several kinds at once.
 */
export class SchemaPart {
  kinds = ANY
  /** Values that `enum` and `const` leave; undefined: not limited so. */
  literals: unknown[] | undefined
  number: NumberBounds = {
    integer: false,
    minimum: -Infinity,
    exclusiveMinimum: -Infinity,
    maximum: Infinity,
    exclusiveMaximum: Infinity,
    multiples: [],
    denied: [],
  }
  /** Numbers that `not` leaves out. */
  gaps: number[] = []
  minLength = 0
  maxLength = Infinity
  texts: TextAutomaton[] = []
  items: ItemGroup[] = []
  contains: Contains[] = []
  minItems = 0
  maxItems = Infinity
  uniqueItems = false
  groups: PropertyGroup[] = []
  names: Atom[] = []
  /** A set in order of mention. */
  required = new Set<string>()
  wanted: WantedMember[] = []
  /** Those of them that are to be among the keys that nobody declared. */
  sought: WantedMember[] = []
  minProperties = 0
  maxProperties = Infinity
  /** Where the keywords stand that bind here, for refusals that come only when all is put together. */
  places = new Places()
  /** Why values of some kinds cannot be described; raised only if the part still admits those kinds in the end. */
  obstacles: { readonly kinds: number; readonly error: SchemaError }[] = []

  /** Made by the thousand where alternatives multiply: what is empty is not copied, and what only grows is shared. */
  clone(): SchemaPart {
    const copy = new SchemaPart()
    const { number } = this
    copy.kinds = this.kinds
    copy.literals = this.literals
    copy.number = { ...number, multiples: copied(number.multiples), denied: copied(number.denied) }
    if (this.gaps.length > 0) copy.gaps = this.gaps.slice()
    copy.minLength = this.minLength
    copy.maxLength = this.maxLength
    if (this.texts.length > 0) copy.texts = this.texts.slice()
    if (this.items.length > 0) copy.items = this.items.slice()
    if (this.contains.length > 0) copy.contains = this.contains.slice()
    copy.minItems = this.minItems
    copy.maxItems = this.maxItems
    copy.uniqueItems = this.uniqueItems
    if (this.groups.length > 0) copy.groups = this.groups.slice()
    if (this.names.length > 0) copy.names = this.names.slice()
    if (this.required.size > 0) copy.required = new Set(this.required)
    if (this.wanted.length > 0) copy.wanted = this.wanted.slice()
    if (this.sought.length > 0) copy.sought = this.sought.slice()
    copy.minProperties = this.minProperties
    copy.maxProperties = this.maxProperties
    copy.places = new Places(this.places)
    if (this.obstacles.length > 0) copy.obstacles = this.obstacles.slice()
    return copy
  }

  get dead(): boolean {
    return this.kinds === 0 || this.literals?.length === 0
  }

  /** Whether nothing is said but which kinds there may be, and of objects. */
  get free(): boolean {
    const numbers = !this.number.integer && isUnbounded(this.number)
    const texts = this.minLength === 0 && this.maxLength === Infinity && this.texts.length === 0
    const counts = this.minItems === 0 && this.maxItems === Infinity && !this.uniqueItems
    const arrays = counts && this.items.length + this.contains.length === 0
    const others = this.literals === undefined && this.gaps.length + this.obstacles.length === 0
    return numbers && texts && arrays && others
  }

  /** Gives up the kinds whose own bounds contradict each other. */
  settle(): void {
    const n = this.number
    if (n.minimum > n.maximum || n.exclusiveMinimum >= n.maximum || n.minimum >= n.exclusiveMaximum)
      this.kinds &= ~NUMBER
    if (n.exclusiveMinimum >= n.exclusiveMaximum) this.kinds &= ~NUMBER
    if (this.minLength > this.maxLength) this.kinds &= ~STRING
    if (this.minItems > this.maxItems) this.kinds &= ~ARRAY
    if (this.minProperties > this.maxProperties || this.required.size > this.maxProperties) this.kinds &= ~OBJECT
  }
}
