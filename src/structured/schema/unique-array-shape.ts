import type { SchemaError } from '../schema-error.js'
import { ArrayShape, type ArrayStep } from './array-shape.js'
import { type Layout, toBytes, write } from './format.js'
import type { SchemaPart } from './part.js'
import { Value } from './value.js'

/** Of which have come, there is a bit each in a place's tally. */
export const MOST_UNIQUE = 30

/**
 * Arrays in which no two items are alike, where all that they may be is listed. The tally of a place has a bit for each
 * that has come.
 */
export class UniqueArrayShape extends ArrayShape {
  readonly #items: Value
  readonly #layout: Layout
  readonly #unlisted: SchemaError
  #listed: readonly Value[] | undefined

  /** `unlisted`: raised where the items are not listed, and any may then come again. */
  constructor(
    part: SchemaPart,
    items: Value,
    layout: Layout,
    obstacle: SchemaError | undefined,
    unlisted: SchemaError,
  ) {
    super(part, [items], [], undefined, layout, obstacle)
    this.#items = items
    this.#layout = layout
    this.#unlisted = unlisted
  }

  /** One value for each that an item may be; undefined where they are not listed, or not known yet. */
  get #choices(): readonly Value[] | undefined {
    const { literals, numbers, strings, arrays, objects } = this.#items
    if (this.#listed !== undefined) return this.#listed
    const others = numbers.length + strings.length + arrays.length + objects.length
    if (literals.length === 0 || literals.length > MOST_UNIQUE || others > 0) return undefined
    this.#listed = literals.map((literal) => {
      const value = new Value(this.#items.id)
      value.literals = [literal]
      value.length = this.#layout.weigh(toBytes(write(literal, this.#layout)))
      return value
    })
    return this.#listed
  }

  override get obstacle(): SchemaError | undefined {
    return super.obstacle ?? (this.#choices === undefined && this.#items.possible ? this.#unlisted : undefined)
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
