import type { GrammarSource, OutputGrammar, TokenConstraint, TokenVocabulary } from '../../contract/index.js'
import { fromSource } from '../../grammar/index.js'

/** A grammar that was compiled in another thread; here only for an engine that has to have it, at its first use. */
export class FarGrammar implements OutputGrammar {
  readonly source: GrammarSource
  #here: OutputGrammar | undefined

  constructor(source: GrammarSource) {
    this.source = source
  }

  accepts(text: string): boolean {
    return this.#compiled.accepts(text)
  }

  start(vocabulary: TokenVocabulary): TokenConstraint {
    return this.#compiled.start(vocabulary)
  }

  get #compiled(): OutputGrammar {
    this.#here ??= fromSource(this.source)
    return this.#here
  }
}
