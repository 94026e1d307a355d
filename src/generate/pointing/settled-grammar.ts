/**
 * A grammar of which some values are settled. What the whole grammar leaves open is not certain for that: the model that
 * writes still says each token of a settled value, and is told how likely it found it; it has no other to say.
 */
import type { OutputGrammar, TokenConstraint, TokenVocabulary } from '../../contract/index.js'
import { commonLength } from '../../platform/index.js'

/** `narrow`: the same grammar with fewer values. */
export function settledGrammar(whole: OutputGrammar, narrow: OutputGrammar): OutputGrammar {
  return {
    ...(narrow.source && { source: narrow.source }),
    accepts: (text) => narrow.accepts(text),
    start: (vocabulary: TokenVocabulary) => new SettledConstraint(whole.start(vocabulary), narrow.start(vocabulary)),
  }
}

class SettledConstraint implements TokenConstraint {
  readonly #whole: TokenConstraint
  readonly #narrow: TokenConstraint

  constructor(whole: TokenConstraint, narrow: TokenConstraint) {
    this.#whole = whole
    this.#narrow = narrow
  }

  get done(): boolean {
    return this.#narrow.done
  }

  get shortest(): number {
    return this.#narrow.shortest
  }

  mask(into: Uint32Array): void {
    this.#narrow.mask(into)
  }

  accept(token: number): boolean {
    if (!this.#narrow.accept(token)) return false
    if (this.#whole.accept(token)) return true
    this.#narrow.rollback(1)
    return false
  }

  /** Certain by both. */
  forced(): Uint8Array {
    const [whole, narrow] = [this.#whole.forced(), this.#narrow.forced()]
    return whole.subarray(0, commonLength(whole, narrow))
  }

  closing(budget: number): boolean {
    return this.#narrow.closing(budget)
  }

  rollback(tokens: number): void {
    this.#whole.rollback(tokens)
    this.#narrow.rollback(tokens)
  }

  clone(): TokenConstraint {
    return new SettledConstraint(this.#whole.clone(), this.#narrow.clone())
  }
}
