import { literalSet } from '../automata/literals.js'
import { union } from '../automata/sets.js'
import type { Fuel } from '../fuel.js'
import type { SchemaError } from '../schema-error.js'
import { PlainArrays } from '../values/array-shape.js'
import { type Layout, toBytes, write } from '../values/format.js'
import { MOST_DEMANDED, planObject, startOf } from '../values/object-plan.js'
import { EXACT_LETTERS } from '../values/text-length.js'
import { type ArrayStep, type ObjectShape, Value } from '../values/value.js'
import type { Context } from './context.js'
import { allParts } from './lengths.js'
import { textSet } from './object-of-part.js'
import type { SchemaPart } from './part.js'

/** Of which have come, there is a bit each in a place's tally. */
export const MOST_UNIQUE = 30

/**
 * Arrays in which no two items are alike, where all that they may be is listed, or texts. The tally of a place has a bit
 * for each that has come; texts are told apart as the keys of an object are.
 */
export class UniqueArrayShape extends PlainArrays {
  readonly #items: Value
  readonly #layout: Layout
  readonly #unlisted: SchemaError
  #listed: readonly Value[] | undefined
  readonly #part: SchemaPart
  readonly #fuel: Fuel
  #set: ObjectShape | undefined
  #distinct: boolean | undefined

  /** `unlisted`: raised where the items are not listed, and any may then come again. */
  constructor(
    part: SchemaPart,
    items: Value,
    { layout, fuel }: Context,
    obstacle: SchemaError | undefined,
    unlisted: SchemaError,
  ) {
    super(part, [items], [], undefined, layout, obstacle)
    this.#part = part
    this.#fuel = fuel
    this.#items = items
    this.#layout = layout
    this.#unlisted = unlisted
  }

  /** One value for each that an item may be; undefined where they are not listed, or not known yet. */
  get #choices(): readonly Value[] | undefined {
    const { literals, numbers, strings, arrays, objects, graph } = this.#items
    if (this.#listed !== undefined) return this.#listed
    const others = numbers.length + strings.length + arrays.length + objects.length
    if (graph !== undefined) return undefined
    if (literals.length === 0 || literals.length > MOST_UNIQUE || others > 0) return undefined
    this.#listed = literals.map((literal) => {
      const value = new Value(this.#items.id)
      value.literals = [literal]
      value.length = this.#layout.weigh(toBytes(write(literal, this.#layout)))
      return value
    })
    return this.#listed
  }

  override get set(): ObjectShape | undefined {
    const { literals, numbers, strings, arrays, objects, graph } = this.#items
    if (graph !== undefined) return undefined
    if (this.#set !== undefined || numbers.length + arrays.length + objects.length > 0) return this.#set
    // Where they are many they are told apart one by one.
    if (strings.some(({ sparse }) => sparse)) return undefined
    if (strings.length === 0 && literals.length <= MOST_UNIQUE) return undefined
    if (this.min > MOST_DEMANDED || literals.some((literal) => typeof literal !== 'string')) return undefined
    const spelled = literals.length === 0 ? [] : [literalSet(literals as string[], this.#fuel)]
    const text = [...strings, ...spelled].reduce((a, b) => union(a, b, this.#fuel))
    this.#set = textSet(text, this.#part, this.#layout)
    return this.#set
  }

  override get needsNoTelling(): boolean {
    return this.#choices !== undefined
  }

  override get distinct(): boolean {
    if (this.#choices !== undefined || this.set !== undefined) return false
    this.#distinct ??= this.min <= 1 && this.#layout.blanks === 0 && hasUniqueTexts(this.#items)
    return this.#distinct
  }

  override get obstacle(): SchemaError | undefined {
    const enforced = this.#choices !== undefined || this.set !== undefined || this.distinct || !this.#items.possible
    return super.obstacle ?? (enforced ? undefined : this.#unlisted)
  }

  override value(index: number, step: ArrayStep): Value {
    return typeof step === 'number' ? this.#choices![step]! : super.value(index, step)
  }

  override clampTally(tally: number): number {
    return this.#choices === undefined ? super.clampTally(tally) : tally
  }

  override tally(tally: number, step: ArrayStep): number {
    return typeof step === 'number' ? tally | (1 << step) : super.tally(tally, step)
  }

  override steps(index: number, tally: number): ArrayStep[] {
    if (this.#choices === undefined) return super.steps(index, tally)
    const left = this.#left(tally)
    return index < this.max && left.length >= this.min - index ? left : []
  }

  override rest(index: number, tally: number): number {
    if (this.set !== undefined && !this.canStop(0, 0)) return planObject(this.set, startOf(this.set), this.min).length
    if (this.#choices === undefined || this.canStop(index, tally)) return super.rest(index, tally)
    const needed = this.min - index
    const cheapest = this.#cheapest(tally).slice(0, needed)
    if (cheapest.length < needed || this.min > this.max) return Infinity
    const { close } = this.#layout.weights
    return cheapest.reduce((cost, step, i) => cost + this.#cost(step) + this.before(index + i), close)
  }

  override best(index: number, tally: number): ArrayStep | undefined {
    if (this.#choices === undefined) return super.best(index, tally)
    return this.canStop(index, tally) ? undefined : this.#cheapest(tally)[0]
  }

  #left(tally: number): number[] {
    return [...this.#choices!.keys()].filter((step) => (tally & (1 << step)) === 0)
  }

  #cheapest(tally: number): number[] {
    return this.#left(tally).sort((a, b) => this.#cost(a) - this.#cost(b))
  }

  #cost(step: number): number {
    return this.item(this.#choices![step]!)
  }
}

/** Whether two texts of an item that look different always are different values. */
export function hasUniqueTexts(item: Value): boolean {
  const seen = new Set([item])
  for (const value of seen) {
    if (!isPlain(value)) return false
    for (const part of allParts(value)) seen.add(part)
  }
  return true
}

function isPlain({ literals, numbers, arrays, objects, graph }: Value): boolean {
  const composite = literals.some((literal) => typeof literal === 'object' && literal !== null)
  if (composite && arrays.length + objects.length + Number(graph !== undefined) > 0) return false
  if (numbers.some((number) => number.distance(number.start) > EXACT_LETTERS)) return false
  if (numbers.length > 0 && literals.some((literal) => typeof literal === 'number' && !isShort(literal))) return false
  if (!arrays.every((shape) => shape.needsNoTelling)) return false
  if (![...objects, ...(graph?.tails ?? [])].every(isClosed)) return false
  const orders = objects.map((shape) => shape.properties.map(({ key }) => key))
  return inOneOrder(graph === undefined ? orders : [...orders, graph.keys])
}

function isShort(literal: number): boolean {
  return /^-?[\d.]+$/.test(String(literal)) && String(literal).length <= EXACT_LETTERS
}

/** Undeclared keys come in any order. */
function isClosed(shape: ObjectShape): boolean {
  const { isSet, pending, first, behind, keys } = shape
  return !isSet && pending.length === 0 && first === undefined && behind === undefined && keys.now().text.empty
}

/** Whether keys that several lists share come in the same order in all of them. */
function inOneOrder(lists: readonly (readonly string[])[]): boolean {
  return lists.every((list, i) => {
    const place = new Map(list.map((key, at) => [key, at]))
    return lists.slice(0, i).every((other) => {
      const shared = other.map((key) => place.get(key)).filter((at) => at !== undefined)
      return shared.every((at, n) => n === 0 || at > shared[n - 1]!)
    })
  })
}
