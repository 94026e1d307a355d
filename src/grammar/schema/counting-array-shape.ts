import type { SchemaError } from '../schema-error.js'
import { PlainArrays } from '../values/array-shape.js'
import type { Layout } from '../values/format.js'
import type { ArrayStep, Value } from '../values/value.js'
import type { Contains, SchemaPart } from './part.js'

/** Which of the counts an item adds to, as bits. */
export type Counted = number

/** More counts at once would have more kinds of items than a state can hold. */
export const MOST_COUNTS = 4
/** Places that are told apart. */
export const MOST_PLACES = 20_000

/** Arrays with several counts of such and such items, or with one that begins behind a prefix. */
export class CountingArrayShape extends PlainArrays {
  readonly #counts: readonly Contains[]
  readonly #kinds: readonly (readonly Value[])[]
  readonly #limits: readonly number[]
  readonly #last: number
  readonly #layout: Layout
  readonly #rests = new Map<number, number>()

  /** `kinds`: by `Counted`, the items at each place; the last ones go on. */
  constructor(
    part: SchemaPart,
    counts: readonly Contains[],
    kinds: readonly (readonly Value[])[],
    layout: Layout,
    obstacle: SchemaError | undefined,
  ) {
    super(part, kinds[0]!, [], undefined, layout, obstacle)
    this.#counts = counts
    this.#kinds = kinds
    this.#limits = counts.map(limitOf)
    this.#last = kinds[0]!.length - 1
    this.#layout = layout
  }

  override value(index: number, step: ArrayStep): Value {
    const list = this.#kinds[typeof step === 'number' ? step : 0]!
    return list[Math.min(index, list.length - 1)]!
  }

  override get values(): readonly Value[] {
    return this.#kinds.flat()
  }

  /** A tally is all counts in one number, each below its limit. */
  override clampTally(tally: number): number {
    return tally
  }

  override tally(tally: number, step: ArrayStep): number {
    let unit = 1
    let sum = tally
    this.#limits.forEach((limit, i) => {
      const count = Math.floor(tally / unit) % (limit + 1)
      if (((step as Counted) >> i) & 1 && count < limit) sum += unit
      unit *= limit + 1
    })
    return sum
  }

  #counted(tally: number): number[] {
    let rest = tally
    return this.#limits.map((limit) => {
      const count = rest % (limit + 1)
      rest = Math.floor(rest / (limit + 1))
      return count
    })
  }

  override canStop(index: number, tally: number): boolean {
    return index >= this.min && this.#counted(tally).every((count, i) => count >= this.#counts[i]!.min)
  }

  /** Which items may come here: none that would be one too many, none that is counted before its place. */
  #allowed(index: number, tally: number): Counted[] {
    if (index >= this.max) return []
    const counts = this.#counted(tally)
    return [...this.#kinds.keys()].filter((step) =>
      this.#counts.every((one, i) => ((step >> i) & 1) === 0 || (counts[i]! < one.max && index >= (one.from ?? 0))),
    )
  }

  override steps(index: number, tally: number): ArrayStep[] {
    return this.#allowed(index, tally).filter(
      (step) => this.value(index, step).possible && this.rest(index + 1, this.tally(tally, step)) !== Infinity,
    )
  }

  override rest(index: number, tally: number): number {
    if (this.canStop(index, tally)) return index === 0 ? 1 : this.#layout.weights.close
    const at = this.clamp(index)
    const key = at * 2 ** 26 + tally
    const known = this.#rests.get(key)
    if (known !== undefined) return known
    this.#rests.set(key, Infinity)
    let best = Infinity
    for (const step of this.#allowed(index, tally)) best = Math.min(best, this.#cost(step, at, tally))
    this.#rests.set(key, best)
    return best
  }

  override best(index: number, tally: number): ArrayStep | undefined {
    if (this.canStop(index, tally)) return undefined
    const rest = this.rest(index, tally)
    return this.#allowed(index, tally).find((step) => this.#cost(step, this.clamp(index), tally) === rest)
  }

  #cost(step: Counted, index: number, tally: number): number {
    const own = this.item(this.value(index, step)) + this.before(index)
    const after = this.tally(tally, step)
    // What changes nothing is no way to the end.
    if (
      own === Infinity ||
      (after === tally && this.clamp(index + 1) === this.clamp(index) && !this.canStop(index, tally))
    )
      return Infinity
    return own + this.rest(index + 1, after)
  }

  /** Places that differ. */
  override clamp(index: number): number {
    const top = Math.max(this.min, this.#last, 1, ...this.#counts.map((one) => one.from ?? 0))
    return Math.min(index, this.max === Infinity ? top : Math.max(top, this.max + 1))
  }

  override forget(): void {
    this.#rests.clear()
    super.forget()
  }
}

/** Beyond it another counts no more. */
function limitOf({ min, max }: Contains): number {
  return max === Infinity ? min : max
}

/** How many places such an array has that must be told apart. */
export function placesOf(part: SchemaPart, counts: readonly Contains[]): number {
  const indices = part.maxItems === Infinity ? Math.max(1, part.minItems) : part.maxItems + 1
  return counts.reduce((places, one) => places * (limitOf(one) + 1), indices)
}
