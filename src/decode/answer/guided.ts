import type { TokenConstraint } from '../../engine.js'
import type { Tokenizer } from '../tokenizer/tokenizer.js'
import { type ForcedRun, narrow, planForced } from './forced.js'

export interface GuidedRun extends ForcedRun {
  /** The text of the run that is new. */
  readonly bytes: Uint8Array
}

/** One stretch of an answer under a grammar: what may come next, and what must. */
export class Guided {
  readonly #tokenizer: Tokenizer
  #constraint: TokenConstraint
  /** Tokens accepted so far: those that a forced run may replace. */
  #accepted: number[] = []
  /** Tokens that forced bytes may begin with, from the last plan. */
  #next: readonly number[] = []

  constructor(constraint: TokenConstraint, tokenizer: Tokenizer) {
    this.#constraint = constraint
    this.#tokenizer = tokenizer
  }

  get done(): boolean {
    return this.#constraint.done
  }

  /** The fewest tokens with which this stretch can end; 0 where it may end here. */
  get shortest(): number {
    return this.#constraint.shortest
  }

  /** False if no token may come next within `budget`, which only a wrong grammar or budget can bring about. */
  mask(into: Uint32Array, budget: number): boolean {
    into.fill(0)
    if (!this.#constraint.closing(budget)) return false
    this.#constraint.mask(into)
    narrow(into, this.#constraint.forced(), this.#next, this.#tokenizer)
    for (let i = 0; i < into.length; i++) if (into[i] !== 0) return true
    return false
  }

  accept(token: number): boolean {
    if (!this.#constraint.accept(token)) return false
    this.#accepted.push(token)
    this.#next = []
    return true
  }

  /** Tokens that are certain to come next, if there are any and the text can still end within `budget` after them. */
  plan(budget: number, mayReplace: boolean): GuidedRun | undefined {
    const forced = this.#constraint.forced()
    if (forced.length === 0) return undefined
    const context = mayReplace ? this.#lastText() : []
    const plan = planForced(this.#tokenizer, context, forced, false)
    if (plan?.covered !== forced.length && this.#constraint.shortest <= forced.length) {
      const last = planForced(this.#tokenizer, context, forced, true)
      const run = last?.covered && this.#try(last, forced, budget, true)
      if (run) return run
    }
    if (plan === undefined) return undefined
    if (plan.covered > 0) return this.#try(plan, forced, budget, false)
    if (plan.replace === 0) this.#next = plan.next
    return undefined
  }

  /** Makes a planned run part of the stretch. */
  commit(run: GuidedRun): void {
    this.#constraint = advanced(this.#constraint, run)!
    this.#accepted.length -= run.replace
    this.#accepted.push(...run.tokens)
    this.#next = run.next
  }

  /** The last tokens that are text: what stands before a control token is not read again, and nor is that token. */
  #lastText(): readonly number[] {
    const last = this.#accepted.slice(-12)
    return last.slice(last.findLastIndex((token) => this.#tokenizer.bytes(token).length === 0) + 1)
  }

  #try(plan: ForcedRun, forced: Uint8Array, budget: number, mustEnd: boolean): GuidedRun | undefined {
    const after = advanced(this.#constraint, plan)
    if (after === undefined || (mustEnd && !after.done)) return undefined
    // Canonical tokens may be more than the fewest: near the end of the budget the fewest win.
    if (after.shortest > budget - plan.tokens.length + plan.replace) return undefined
    return { ...plan, bytes: forced.subarray(0, plan.covered) }
  }
}

function advanced(constraint: TokenConstraint, run: ForcedRun): TokenConstraint | undefined {
  const after = constraint.clone()
  after.rollback(run.replace)
  return run.tokens.every((token) => after.accept(token)) ? after : undefined
}
