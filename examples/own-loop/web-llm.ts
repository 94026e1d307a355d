import type { LogitProcessor } from '@mlc-ai/web-llm'
import { type Grammar, maskLogits, type TokenConstraint, type Vocabulary } from 'local-v1/structured'

/**
 * WebLLM's own loop with a grammar: `new MLCEngine({ logitProcessorRegistry: new Map([[model, processor]]) })`. One
 * answer at a time; `resetChat()` begins the next one.
 */
export class GrammarProcessor implements LogitProcessor {
  readonly #begin: () => TokenConstraint
  readonly #mask: Uint32Array
  #constraint: TokenConstraint

  constructor(grammar: Grammar, vocabulary: Vocabulary) {
    this.#begin = () => grammar.start(vocabulary)
    this.#mask = new Uint32Array(vocabulary.words)
    this.#constraint = this.#begin()
  }

  processLogits = (logits: Float32Array): Float32Array => {
    this.#constraint.mask(this.#mask)
    maskLogits(logits, this.#mask)
    return logits
  }

  processSampledToken = (token: number): void => {
    this.#constraint.accept(token)
  }

  resetState = (): void => {
    this.#constraint = this.#begin()
  }
}
