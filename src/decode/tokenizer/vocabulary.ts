import type { TokenVocabulary } from '../../engine.js'
import type { Tokenizer } from './tokenizer.js'

/** A tokenizer's tokens as a grammar sees them: bytes, the ends of an answer, and what never stands in a text. */
export function vocabularyOf(tokenizer: Tokenizer, _ends: ReadonlySet<number>): TokenVocabulary {
  return { size: tokenizer.size }
}
