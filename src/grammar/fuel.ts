import { SchemaError, type SchemaPath } from './schema-error.js'

/** Steps from one pause to the next: a millisecond or two. */
const SLICE = 3000

/**
 * The step budget of one compilation, shared by all its parts. Steps are counted, not milliseconds, so that a schema is
 * accepted or refused in the same way on every device.
 */
export class Fuel {
  #left: number
  readonly #limit: number
  /** What is computed once in a process, and in a compilation therefore paid for once. */
  readonly #paid: Set<string>
  readonly #what: string
  #rested = 0
  /** Where the compiler stands, so that a refusal names the place that was too costly. */
  place: { readonly path: SchemaPath } = { path: [] }

  /** `what` is too complex where it does not suffice. */
  constructor(steps = 200_000, paid = new Set<string>(), what = 'the schema') {
    this.#left = steps
    this.#limit = steps
    this.#paid = paid
    this.#what = what
  }

  /** A budget of its own for one part, of at most so many steps; whoever asks spends here what was spent there. */
  portion(most: number): Fuel {
    const portion = new Fuel(Math.min(this.#left, most), this.#paid, this.#what)
    portion.place = this.place
    return portion
  }

  /** Whether it is time to pause, after so much since the last one: others may be waiting. */
  tires(): boolean {
    if (this.spent - this.#rested < SLICE) return false
    this.#rested = this.spent
    return true
  }

  get left(): number {
    return this.#left
  }

  get spent(): number {
    return this.#limit - this.#left
  }

  spend(steps: number): void {
    this.#left -= steps
    if (this.#left < 0) {
      throw new SchemaError(
        this.place.path,
        '',
        `${this.#what} is too complex to enforce: it takes more than ${this.#limit} steps to compile.`,
      )
    }
  }

  /** Refuses before it is begun what takes more steps than are left. */
  suffice(steps: number): void {
    if (steps > this.#left) this.spend(steps)
  }

  /** Spends steps on a thing by name, unless this compilation already has. */
  once(name: string, steps: number): void {
    if (this.#paid.has(name)) return
    this.spend(steps)
    this.#paid.add(name)
  }
}
