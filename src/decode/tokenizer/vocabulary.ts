import { Vocabulary } from '../../structured/index.js'
import type { Tokenizer } from './tokenizer.js'

/** A tokenizer's tokens as a grammar sees them: bytes, the ends of an answer, and what never stands in a text. */
export function vocabularyOf(tokenizer: Tokenizer, ends: ReadonlySet<number>): Vocabulary {
  const bytes: Uint8Array[] = []
  for (let id = 0; id < tokenizer.size; id++) bytes.push(tokenizer.bytes(id))
  return new Vocabulary(bytes, { eos: [...ends], special: tokenizer.special })
}
