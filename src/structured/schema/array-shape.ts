import type { SchemaError } from '../schema-error.js'
import { refusal } from './context.js'
import type { Layout } from './format.js'
import { ARRAY, type Atom, type Contains, type Part } from './part.js'
import type { Value } from './value.js'
import type { Values } from './values.js'

/** How an array goes on: stop, or one more item, counted as contained or not. */
export type ArrayStep = 'stop' | 'plain' | 'counted'

/** The arrays of one part. A place in an array is (items so far, contained items so far), both clamped. */
export class ArrayShape {
  readonly min: number
  readonly max: number
  readonly containsMin: number
  readonly containsMax: number
  readonly counting: boolean
  /** Raised if such an array can occur at all. */
  readonly obstacle: SchemaError | undefined
  readonly #plain: readonly Value[]
  readonly #counted: readonly Value[]
  readonly #layout: Layout
  readonly #top: number
  readonly #costs = new Map<number, number>()

  constructor(
    part: Part,
    plain: readonly Value[],
    counted: readonly Value[],
    contains: Contains | undefined,
    layout: Layout,
    obstacle: SchemaError | undefined,
  ) {
    this.#plain = plain
    this.#counted = counted
    this.#layout = layout
    this.min = part.minItems
    this.max = part.uniqueItems ? Math.min(part.maxItems, 1) : part.maxItems
    this.counting = contains !== undefined
    this.containsMin = contains?.min ?? 0
    this.containsMax = contains?.max ?? Infinity
    this.obstacle = obstacle
    const last = plain.length - 1
    this.#top = this.max === Infinity ? Math.max(this.min, last, 1) : this.max + 1
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

  clampContained(contained: number): number {
    return Math.min(contained, this.containsMax === Infinity ? this.containsMin : this.containsMax)
  }

  canStop(index: number, contained: number): boolean {
    return index >= this.min && contained >= this.containsMin
  }

  /** The weight of what is still to come up to and including `]`; `Infinity` if there is no way to it. */
  rest(index: number, contained: number): number {
    if (!this.canStop(index, contained)) return this.#cost(index, contained)
    return index === 0 ? 1 : this.#layout.weights.close
  }

  /** The first step of the shortest way on. */
  best(index: number, contained: number): ArrayStep {
    if (this.canStop(index, contained)) return 'stop'
    return this.costOf('plain', index, contained) <= this.costOf('counted', index, contained) ? 'plain' : 'counted'
  }

  /** The weight of the way to the end when the next item is such a one. */
  costOf(step: ArrayStep, index: number, contained: number): number {
    if (index >= this.max) return Infinity
    if (step === 'counted' && (!this.counting || contained >= this.containsMax)) return Infinity
    const own = this.#item(this.value(index, step)) + this.#before(index)
    return own === Infinity ? own : own + this.rest(index + 1, contained + (step === 'counted' ? 1 : 0))
  }

  /** What stands before an item. */
  #before(index: number): number {
    const { open, comma } = this.#layout.weights
    return index > 0 ? comma : open
  }

  #item({ length }: Value): number {
    return this.#layout.inside(length)
  }

  #costUncounted(index: number): number {
    const layout = this.#layout
    const { open, comma, close } = layout.weights
    const last = this.#plain.length - 1
    let cost = close
    for (let i = index; i < Math.min(last, this.min); i++) cost += this.#item(this.#plain[i]!) + this.#before(i)
    const alike = Math.max(0, this.min - Math.max(index, last))
    if (alike > 0) {
      cost += layout.times(alike, this.#item(this.#plain[last]!) + comma)
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
      let cost = this.#costs.get(key)
      if (cost === undefined) {
        cost = Math.min(this.costOf('plain', index, contained), this.costOf('counted', index, contained))
        this.#costs.set(key, cost)
      }
      return cost
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
      layout.times(counted, this.#item(this.value(index, 'counted'))) +
      layout.times(items - counted, this.#item(this.value(index, 'plain')))
    const between = layout.times(items, comma) + (index === 0 && items > 0 ? open - comma : 0)
    return Math.min(total(wanted), total(most)) + between + close
  }
}

export function arrayShape(values: Values, part: Part): ArrayShape {
  const { context } = values
  let obstacle = values.obstacleOf(part, ARRAY)
  const [contains, ...more] = part.contains
  if (more.length > 0)
    obstacle ??= refusal(contains!.atom.site, 'contains', "several 'contains' for one array are not supported.")
  const single = part.maxItems <= 1
  if (part.uniqueItems && !single)
    obstacle ??= refusal(
      part.places.get('uniqueItems') ?? context.document.root,
      'uniqueItems',
      "'uniqueItems' is not supported.",
    )
  if (obstacle !== undefined && context.ignored !== undefined) {
    context.refuse(obstacle)
    obstacle = undefined
    part.uniqueItems &&= single
  }
  const prefix = Math.max(0, ...part.items.map((group) => group.prefix.length))
  const at = (index: number, extra: readonly Atom[]): Value => {
    const atoms = part.items.map((group) => group.prefix[index] ?? group.rest)
    return values.of([...atoms.filter((atom) => atom !== undefined), ...extra])
  }
  const uncounted = contains !== undefined && contains.max < Infinity ? [contains.inverse] : []
  const plain = Array.from({ length: prefix + 1 }, (_, i) => at(i, uncounted))
  const counted = contains === undefined ? [] : Array.from({ length: prefix + 1 }, (_, i) => at(i, [contains.atom]))
  return new ArrayShape(part, plain, counted, contains, context.layout, obstacle)
}
