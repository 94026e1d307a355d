import { GrammarError } from '../grammar-error.js'

/** Of one byte of a text: some milliseconds. */
export const STEP_WORK = 50_000
/** Of all tokens that may follow a place. */
export const MASK_WORK = 250_000

/** What a call may take of an automaton, in stacks and rules looked at: counted, so that it ends alike on every device. */
export class StepWork {
  #left = Infinity
  #spent = 0
  /** The rule that was entered last, by its name. */
  rule: string | undefined

  /** All that has been done so far. */
  get spent(): number {
    return this.#spent
  }

  /** Begins a call. */
  allow(most: number): void {
    this.#left = most
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
