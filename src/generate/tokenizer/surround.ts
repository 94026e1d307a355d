import type { Tokenizer as HfTokenizer } from '@huggingface/tokenizers'

/** What a tokenizer puts around the tokens of a text, and of two texts that belong together. */
export interface Surround {
  readonly before: readonly number[]
  readonly after: readonly number[]
  readonly pair: {
    readonly before: readonly number[]
    readonly between: readonly number[]
    readonly after: readonly number[]
    /** Of the tokens of the second text, and of what follows them; 0: none are told apart. */
    readonly secondType: number
  }
}

/** Two letters that every vocabulary knows, or knows as the same unknown. */
const [ONE, OTHER] = ['a', 'b']

/** Found by looking: what forms a post-processor may have is for the library to know. */
export function surroundOf(hf: HfTokenizer): Surround {
  const plain = (text: string) => hf.encode(text, { add_special_tokens: false }).ids
  const [one, other] = [plain(ONE), plain(OTHER)]
  const alone = hf.encode(ONE).ids
  const at = find(alone, one, 0)
  const { ids, token_type_ids: types } = hf.encode(ONE, { text_pair: OTHER, return_token_type_ids: true })
  const first = find(ids, one, 0)
  const second = find(ids, other, first + one.length)
  return {
    before: alone.slice(0, at),
    after: alone.slice(at + one.length),
    pair: {
      before: ids.slice(0, first),
      between: ids.slice(first + one.length, second),
      after: ids.slice(second + other.length),
      secondType: types[second] ?? 0,
    },
  }
}

function find(ids: readonly number[], part: readonly number[], from: number): number {
  for (let at = from; at + part.length <= ids.length; at++) {
    if (part.every((id, i) => ids[at + i] === id)) return at
  }
  return from
}
