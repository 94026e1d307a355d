import type { GrammarSource, OutputGrammar, TokenConstraint, TokenVocabulary } from '../../contract/index.js'
import { fromSource } from '../../grammar/index.js'

/** A grammar that was compiled in another thread; here only for an engine that has to have it, at its first use. */
export class FarGrammar implements OutputGrammar {
  /** As it came: what is nested takes a hundred times as long to be sent from thread to thread as its text. */
  readonly text: string
  #here: OutputGrammar | undefined

  constructor(text: string) {
    this.text = text
  }

  get source(): GrammarSource {
    return JSON.parse(this.text) as GrammarSource
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
