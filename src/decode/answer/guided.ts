import type { TokenConstraint } from '../../engine.js'
import { type ForcedRun, forcedTokens, narrow } from '../../structured/tokens/forced.js'
import type { Tokenizer } from '../tokenizer/tokenizer.js'

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
    const run = forcedTokens(this.#constraint, this.#tokenizer, mayReplace ? this.#accepted : [], budget)
    if (run === undefined) return undefined
    if (run.covered > 0) return { ...run, bytes: this.#constraint.forced().subarray(0, run.covered) }
    if (run.replace === 0) this.#next = run.next
    return undefined
  }

  /** Makes a planned run part of the stretch. */
  commit(run: GuidedRun): void {
    this.#constraint = advanced(this.#constraint, run)!
    this.#accepted.length -= run.replace
    this.#accepted.push(...run.tokens)
    this.#next = run.next
  }
}

function advanced(constraint: TokenConstraint, run: ForcedRun): TokenConstraint | undefined {
  const after = constraint.clone()
  after.rollback(run.replace)
  return run.tokens.every((token) => after.accept(token)) ? after : undefined
}
