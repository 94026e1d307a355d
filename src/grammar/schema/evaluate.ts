import { getOrMake, type Slices } from '../../platform/index.js'
import type { Fuel } from '../fuel.js'
import type { Keyworded } from '../keywords/keyword.js'
import { readingsOf } from '../keywords/reading.js'
import { type Context, refusal } from './context.js'
import type { Site } from './document.js'
import type { Atom } from './part.js'
import { kindBit } from './shallow.js'

/**
 * Questions within one another: deeper than any model writes, and far less than what a stack has room for. Where there is none
 * left, Node 26 may say that undefined is no function.
 */
const DEEPEST = 200

/** So many questions are asked from one pause to the next: a few milliseconds. */
export const QUESTIONS_AT_ONCE = 2000

/** Raised where it is time to pause: whoever goes on begins anew, and is told at once what was answered before. */
const PAUSE = new Error('time to pause')

/** Whether a given value satisfies a subschema: what is left of `enum` under the keywords beside it. */
export function satisfies(context: Context, atom: Atom, value: unknown): boolean {
  return new Evaluation(context).test(atom, value)
}

/** The same on a budget of its own, with a pause after so much work: others may use the context meanwhile, on theirs. */
export function* satisfiesInSlices(context: Context, atom: Atom, value: unknown, fuel: Fuel): Slices<boolean> {
  const evaluation = new Evaluation(context)
  for (let most = QUESTIONS_AT_ONCE; ; yield) {
    context.fuel = fuel
    const { answered } = evaluation
    const answer = evaluation.tryFor(most, atom, value)
    if (answer !== undefined) return answer
    // Not all answers are kept: of those that are not, more are needed at once.
    if (evaluation.answered - answered < most / 2) most *= 2
  }
}

/**
 * One look at one value. What a subschema says of a part is asked once, so that alternatives that share subschemas do
 * not multiply with the depth of the value. A subschema that refers back to itself without looking into the value holds
 * only where it does so without that: `anyOf: [A, the whole]` is A.
 */
class Evaluation {
  readonly #context: Context
  readonly #known = new Map<unknown, Map<Site, boolean>>()
  /** What is being asked, and how deep. */
  readonly #open = new Map<unknown, Map<Site, number>>()
  #depth = 0
  /** The outermost question, of those still open, that an answer since has rested on. */
  #restsOn = Infinity
  /** Answers that are kept. */
  answered = 0
  #left = Infinity

  constructor(context: Context) {
    this.#context = context
  }

  readonly test = (atom: Atom, value: unknown): boolean => this.#holds(atom.site, value) !== atom.negated

  /** Undefined: it takes more questions. */
  tryFor(most: number, atom: Atom, value: unknown): boolean | undefined {
    this.#left = most
    this.#depth = 0
    this.#restsOn = Infinity
    this.#open.clear()
    try {
      return this.test(atom, value)
    } catch (error) {
      if (error !== PAUSE) throw error
      return undefined
    }
  }

  #holds(site: Site, value: unknown): boolean {
    if (typeof site.schema === 'boolean') return site.schema
    const known = this.#known.get(value)?.get(site)
    if (known !== undefined) return known
    const open = getOrMake(this.#open, value, () => new Map())
    const openAt = open.get(site)
    if (openAt !== undefined) {
      this.#restsOn = Math.min(this.#restsOn, openAt)
      return false
    }
    if (this.#depth === DEEPEST) throw refusal(site, '', 'a value is nested too deeply to be looked at.')
    if (this.#left-- === 0) throw PAUSE
    const depth = this.#depth++
    open.set(site, depth)
    const answer = this.#keeps(site, site.schema, value)
    this.#context.fuel.spend(5)
    open.delete(site)
    this.#depth = depth
    // An answer that rests on a question that is still open may be another one for who asks elsewhere.
    if (this.#restsOn >= depth) {
      this.#restsOn = Infinity
      this.answered++
      getOrMake(this.#known, value, () => new Map()).set(site, answer)
    }
    return answer
  }

  #keeps(site: Site, schema: Keyworded, value: unknown): boolean {
    const context = this.#context
    const at = { context, site, schema, test: this.test }
    const kind = kindBit(value)
    for (const { keyword, claim } of readingsOf(context, site, schema)) {
      if ((keyword.kinds & kind) !== 0 && !keyword.holds(at, claim, value)) return false
    }
    return true
  }
}
