import { getOrMake } from '../../platform/index.js'
import type { SchemaError } from '../schema-error.js'
import type { Layout } from './format.js'
import type { ArrayShape, ArrayStep, ObjectShape, Value } from './value.js'

const STEPS: readonly ArrayStep[] = ['plain', 'counted']

/**
 * The arrays of one part. A place in an array is how many items there are so far, and a tally: of those that count as
 * contained, or of which have come. Both are clamped.
 */
export class PlainArrays implements ArrayShape {
  readonly min: number
  readonly max: number
  readonly containsMin: number
  readonly containsMax: number
  readonly counting: boolean
  readonly #obstacle: SchemaError | undefined
  readonly #plain: readonly Value[]
  readonly #counted: readonly Value[]
  readonly #layout: Layout
  readonly #top: number
  readonly #costs = new Map<number, number>()

  constructor(
    part: { readonly minItems: number; readonly maxItems: number },
    plain: readonly Value[],
    counted: readonly Value[],
    contains: { readonly min: number; readonly max: number } | undefined,
    layout: Layout,
    obstacle: SchemaError | undefined,
  ) {
    this.#plain = plain
    this.#counted = counted
    this.#layout = layout
    this.min = part.minItems
    this.max = part.maxItems
    this.counting = contains !== undefined
    this.containsMin = contains?.min ?? 0
    this.containsMax = contains?.max ?? Infinity
    this.#obstacle = obstacle
    const last = plain.length - 1
    this.#top = this.max === Infinity ? Math.max(this.min, last, 1) : this.max + 1
  }

  /** Raised if such an array can occur at all. Known once its items are. */
  get obstacle(): SchemaError | undefined {
    return this.#obstacle
  }

  /** Where the items are texts of which none comes twice: those. Known once the items are. */
  get set(): ObjectShape | undefined {
    return undefined
  }

  /** Whether no item may come twice, and two that look different are different. Known once the items are. */
  get distinct(): boolean {
    return false
  }

  /** Whether a place knows what may follow, without the automaton's being told what came. */
  get needsNoTelling(): boolean {
    return true
  }

  value(index: number, step: ArrayStep): Value {
    const list = step === 'counted' ? this.#counted : this.#plain
    return list[Math.min(index, list.length - 1)]!
  }

  /** How many positions there are that differ. */
  get positions(): number {
    return this.#plain.length
  }

  /** Every value that may stand in such an array. */
  get values(): readonly Value[] {
    return [...this.#plain, ...this.#counted]
  }

  /** Positions that behave alike are one. */
  clamp(index: number): number {
    return Math.min(index, this.#top)
  }

  clampTally(contained: number): number {
    return Math.min(contained, this.containsMax === Infinity ? this.containsMin : this.containsMax)
  }

  /** The tally after such an item. */
  tally(contained: number, step: ArrayStep): number {
    return contained + (step === 'counted' ? 1 : 0)
  }

  /** The items that may come next. */
  steps(index: number, contained: number): ArrayStep[] {
    return STEPS.filter((step) => this.#costOf(step, index, contained) !== Infinity)
  }

  canStop(index: number, contained: number): boolean {
    return index >= this.min && contained >= this.containsMin
  }

  /** The weight of what is still to come up to and including `]`; `Infinity` if there is no way to it. */
  rest(index: number, contained: number): number {
    if (!this.canStop(index, contained)) return this.#cost(index, contained)
    return index === 0 ? 1 : this.#layout.weights.close
  }

  /** The first step of the shortest way on; undefined: stop. */
  best(index: number, contained: number): ArrayStep | undefined {
    if (this.canStop(index, contained)) return undefined
    return this.#costOf('plain', index, contained) <= this.#costOf('counted', index, contained) ? 'plain' : 'counted'
  }

  /** The weight of the way to the end when the next item is such a one. */
  #costOf(step: ArrayStep, index: number, contained: number): number {
    if (index >= this.max) return Infinity
    if (step === 'counted' && (!this.counting || contained >= this.containsMax)) return Infinity
    const own = this.item(this.value(index, step)) + this.before(index)
    return own === Infinity ? own : own + this.rest(index + 1, contained + (step === 'counted' ? 1 : 0))
  }

  /** What stands before an item. */
  protected before(index: number): number {
    const { open, comma } = this.#layout.weights
    return index > 0 ? comma : open
  }

  protected item({ length }: Value): number {
    return this.#layout.inside(length)
  }

  #costUncounted(index: number): number {
    const layout = this.#layout
    const { open, comma, close } = layout.weights
    const last = this.#plain.length - 1
    let cost = close
    for (let i = index; i < Math.min(last, this.min); i++) cost += this.item(this.#plain[i]!) + this.before(i)
    const alike = Math.max(0, this.min - Math.max(index, last))
    if (alike > 0) {
      cost += layout.times(alike, this.item(this.#plain[last]!) + comma)
      if (index === 0 && last === 0) cost += open - comma
    }
    return cost
  }

  /** The lengths of the items have changed. */
  forget(): void {
    this.#costs.clear()
  }

  #cost(index: number, contained: number): number {
    if (!this.counting) return this.#costUncounted(index)
    if (index < this.#plain.length - 1) {
      const key = index * 2 ** 24 + contained
      return getOrMake(this.#costs, key, () =>
        Math.min(this.#costOf('plain', index, contained), this.#costOf('counted', index, contained)),
      )
    }
    // From here on all positions are alike: count instead of walking.
    const wanted = Math.max(0, this.containsMin - contained)
    const items = Math.max(this.min - index, wanted)
    if (index + items > this.max) return Infinity
    const most = Math.min(items, this.counting ? this.containsMax - contained : 0)
    if (most < wanted) return Infinity
    const layout = this.#layout
    const { open, comma, close } = layout.weights
    const total = (counted: number) =>
      layout.times(counted, this.item(this.value(index, 'counted'))) +
      layout.times(items - counted, this.item(this.value(index, 'plain')))
    const between = layout.times(items, comma) + (index === 0 && items > 0 ? open - comma : 0)
    return Math.min(total(wanted), total(most)) + between + close
  }
}
