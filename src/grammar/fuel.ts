/** What work on schemas and grammars may take, counted in steps: it then ends alike on every device. */
import { GrammarError } from './grammar-error.js'
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

/** Of one byte of a text: some milliseconds. */
export const STEP_WORK = 50_000
/** Of all tokens that may follow a place. */
export const MASK_WORK = 250_000
/** From one pause to the next: a few milliseconds. */
export const SLICE_WORK = 3000
/** Steps that a trie is walked down, most of them known, which take as long as one of these. */
const LOOKS = 8

/** What a call may take of an automaton, in stacks and rules looked at: counted, so that it ends alike on every device. */
export class StepWork {
  #left = Infinity
  #spent = 0
  #rested = 0
  #looks = 0
  readonly #limited: boolean
  /** The rule that was entered last, by its name. */
  rule: string | undefined

  /** `limited`: where rules may be written such that a text has any number of readings. */
  constructor(limited = false) {
    this.#limited = limited
  }

  /** All that has been done so far. */
  get spent(): number {
    return this.#spent
  }

  /** What a call may still take. */
  get left(): number {
    return this.#left
  }

  /** Begins a slice, of a call that may take so much. */
  allow(most: number): void {
    this.limit(most)
    this.#rested = this.#spent
    this.#looks = 0
  }

  /** What comes next may take so much, of a slice that goes on. */
  limit(most: number): void {
    this.#left = this.#limited ? most : Infinity
  }

  /** What was done beside such steps takes as long as so many, and no text is refused for it. */
  tire(steps: number): void {
    this.#looks += steps * LOOKS
  }

  /** Whether it is time to pause, asked after each step of a walk: others may be waiting. */
  tires(): boolean {
    this.#looks++
    return this.#spent - this.#rested + this.#looks / LOOKS > SLICE_WORK
  }

  spend(steps: number): void {
    this.#spent += steps
    this.#left -= steps
    if (this.#left < 0) throw new GrammarError(this.#message())
  }

  #message(): string {
    const subject = this.rule === undefined ? 'the grammar' : `the rule '${this.rule}'`
    return `${subject} can be read in too many ways at once. Write it so that a text has fewer readings.`
  }
}
