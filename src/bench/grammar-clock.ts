/** A grammar with a stopwatch around it: what masks and the rest of its work take, by the contract's own methods. */
import type { OutputGrammar, TokenConstraint, TokenVocabulary } from '../contract/index.js'

export class GrammarClock {
  /** Milliseconds. */
  mask = 0
  masks = 0
  all = 0

  around(grammar: OutputGrammar): OutputGrammar {
    return {
      accepts: (text) => grammar.accepts(text),
      start: (vocabulary: TokenVocabulary) => this.#time(() => this.#watch(grammar.start(vocabulary))),
    }
  }

  #watch(inner: TokenConstraint): TokenConstraint {
    const time = <T>(work: () => T) => this.#time(work)
    return {
      get done() {
        return inner.done
      },
      get shortest() {
        return time(() => inner.shortest)
      },
      mask: (into) => {
        const before = this.all
        time(() => inner.mask(into))
        this.mask += this.all - before
        this.masks++
      },
      accept: (token) => time(() => inner.accept(token)),
      forced: () => time(() => inner.forced()),
      closing: (budget) => time(() => inner.closing(budget)),
      rollback: (tokens) => time(() => inner.rollback(tokens)),
      clone: () => this.#watch(time(() => inner.clone())),
    }
  }

  #time<T>(work: () => T): T {
    const start = performance.now()
    try {
      return work()
    } finally {
      this.all += performance.now() - start
    }
  }
}
