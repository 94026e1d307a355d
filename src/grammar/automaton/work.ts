import { GrammarError } from '../grammar-error.js'

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
  /** The rule that was entered last, by its name. */
  rule: string | undefined

  /** All that has been done so far. */
  get spent(): number {
    return this.#spent
  }

  /** What a call may still take. */
  get left(): number {
    return this.#left
  }

  /** What comes next may take so much. */
  allow(most: number): void {
    this.#left = most
  }

  /** Begins a slice. */
  rest(): void {
    this.#rested = this.#spent
    this.#looks = 0
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
