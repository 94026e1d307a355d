import { Vocabulary } from '../../grammar/index.js'
import type { Tokenizer } from './tokenizer.js'

/** A tokenizer's tokens as a grammar sees them: bytes, the ends of an answer, and what never stands in a text. */
export function vocabularyOf(tokenizer: Tokenizer, ends: ReadonlySet<number>): Vocabulary {
  const bytes: Uint8Array[] = []
  for (let id = 0; id < tokenizer.size; id++) bytes.push(tokenizer.bytes(id))
  const { special } = tokenizer
  // By their names a grammar may ask for control tokens, but not for those that end an answer.
  const others = [...special].filter((id) => !ends.has(id))
  const named = Object.fromEntries(others.map((id) => [tokenizer.name(id), id]))
  return new Vocabulary(bytes, { eos: [...ends], special, named })
}
