import { describe, expect, it } from 'vitest'
import { Tokenizer } from '../../../decode/tokenizer/tokenizer.js'
import { readTokenizer } from './tokenizer.js'
// What llama.cpp makes of some texts: npm run check:tokenizers -- --peers FOLDER --fixture FILE
import fixture from './words.fixture.json' with { type: 'json' }
import { KINDS, WORDS } from './words.js'

const { texts, tokens, kinds, merges } = fixture

describe('words of tokenizer.ggml.pre', () => {
  it.each(Object.entries(fixture.ids as Record<string, number[][]>))('%s cuts as llama.cpp does', (pre, ids) => {
    const { tokenizer, tokenizerConfig } = readTokenizer(
      'here',
      new Map<string, unknown>([
        ['tokenizer.ggml.model', 'gpt2'],
        ['tokenizer.ggml.pre', pre],
        ['tokenizer.ggml.tokens', tokens],
        ['tokenizer.ggml.token_type', kinds],
        ['tokenizer.ggml.merges', merges.map((pair) => pair.join(' '))],
      ]),
    )
    const made = new Tokenizer(tokenizer, tokenizerConfig)
    expect(texts.map((text) => made.encode(text))).toEqual(ids)
  })

  it('every kind is held against llama.cpp, and no two of them cut all texts alike', () => {
    expect(Object.keys(fixture.ids)).toEqual(KINDS.map(([names]) => names.split(' ')[0]))
    const different = new Map(KINDS.map(([names, { patterns }]) => [names.split(' ')[0]!, patterns.join()]))
    const ids = new Map(Object.entries(fixture.ids).map(([pre, each]) => [JSON.stringify(each), different.get(pre)]))
    expect(ids.size).toBe(new Set([...WORDS.values()].map(({ patterns }) => patterns.join())).size)
  })
})
