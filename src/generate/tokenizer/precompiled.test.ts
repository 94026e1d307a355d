import { describe, expect, it } from 'vitest'
import { Precompiled } from './precompiled.js'
import { Tokenizer } from './tokenizer.js'
import FIXTURE from './unigram.fixture.json' with { type: 'json' }

/** `unigram.fixture.json` is what Hugging Face's library in Rust made of these texts: `scripts/tokenizers/unigram-fixture.ts`. */
describe.each(FIXTURE.kinds)('SentencePiece in tokenizer.json, $kind', ({ tokenizer: json, ids }) => {
  const tokenizer = new Tokenizer(json)

  it('cuts texts as the library that models are made with', () => {
    FIXTURE.texts.forEach((text, i) => {
      expect([text, ...tokenizer.encodePlain(text)]).toEqual([text, ...ids[i]!])
    })
  })

  it('takes a long text in turns, in time that grows as it does', () => {
    const text = 'the quick brown fox jumps, éà. '.repeat(4000)
    let turns = 0
    for (const work = tokenizer.encodeInSlices(text, 0); !work.next().done; ) turns++
    expect(turns).toBeGreaterThan(text.length / 10_000)
  })
})

describe('a table of characters', () => {
  it('that is none is refused when the tokenizer is made', () => {
    for (const table of ['', 'AAAA', btoa('\x08\0\0\0abc')]) {
      expect(() => new Precompiled(table)).toThrow('precompiled_charsmap in tokenizer.json')
    }
  })
})
