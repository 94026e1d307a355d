import { describe, expect, it } from 'vitest'
import { Tokenizer } from '../../../../generate/tokenizer/tokenizer.js'
import trained from '../../../../generate/tokenizer/unigram.fixture.json' with { type: 'json' }
import { readTokenizer } from './tokenizer.js'
// What llama.cpp makes of some texts: npm run check:tokenizers -- --peers FOLDER --fixture FILE
import fixture from './words.fixture.json' with { type: 'json' }
import { PRE_TOKENIZER_BY_NAME, PRE_TOKENIZERS } from './words.js'

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
    expect(Object.keys(fixture.ids)).toEqual(PRE_TOKENIZERS.map(([names]) => names.split(' ')[0]))
    const different = new Map(PRE_TOKENIZERS.map(([names, { patterns }]) => [names.split(' ')[0]!, patterns.join()]))
    const ids = new Map(Object.entries(fixture.ids).map(([pre, each]) => [JSON.stringify(each), different.get(pre)]))
    expect(ids.size).toBe(new Set([...PRE_TOKENIZER_BY_NAME.values()].map(({ patterns }) => patterns.join())).size)
  })
})

describe('vocabularies of encoders', () => {
  const { texts, tokens, ids } = fixture.encoders
  const made = (entries: readonly (readonly [string, unknown])[]) => {
    const { tokenizer, tokenizerConfig } = readTokenizer('here', new Map(entries), true)
    return new Tokenizer(tokenizer, tokenizerConfig)
  }
  const kindsOf = (all: readonly string[], marks: number) => all.map((_, id) => (id < marks ? 3 : 1))
  const wordPiece = () =>
    made([
      ['tokenizer.ggml.model', 'bert'],
      ['tokenizer.ggml.tokens', tokens],
      ['tokenizer.ggml.token_type', kindsOf(tokens, 5)],
      ...Object.entries({ padding: 0, unknown: 1, cls: 2, seperator: 3, mask: 4 }).map(
        ([name, id]) => [`tokenizer.ggml.${name}_token_id`, id] as const,
      ),
    ])
  const unigram = (more: readonly (readonly [string, unknown])[] = []) => {
    const { model, normalizer } = trained.kinds[0]!.tokenizer
    const pieces = model.vocab.map(([piece]) => String(piece))
    return made([
      ['tokenizer.ggml.model', 't5'],
      ['tokenizer.ggml.tokens', pieces],
      ['tokenizer.ggml.scores', model.vocab.map(([, score]) => score)],
      ['tokenizer.ggml.token_type', kindsOf(pieces, 4)],
      ['tokenizer.ggml.bos_token_id', 0],
      ['tokenizer.ggml.eos_token_id', 2],
      ['tokenizer.ggml.unknown_token_id', 3],
      ['tokenizer.ggml.add_space_prefix', true],
      ['tokenizer.ggml.remove_extra_whitespaces', true],
      ['tokenizer.ggml.precompiled_charsmap', [...Buffer.from(normalizer.precompiled_charsmap!, 'base64')]],
      ...more,
    ])
  }

  it('WordPiece is read as llama.cpp reads it, and stands between its marks', () => {
    const tokenizer = wordPiece()
    expect(texts.map((text) => tokenizer.encode(text))).toEqual(ids.WordPiece)
    const { before, after, pair } = tokenizer.surround
    expect([before, after]).toEqual([[2], [3]])
    expect(pair).toEqual({ before: [2], between: [3], after: [3], secondType: 1 })
  })

  it('Unigram is read as llama.cpp reads it, and stands between its marks', () => {
    const tokenizer = unigram()
    expect(texts.map((text) => tokenizer.encode(text))).toEqual(ids.Unigram)
    const { before, after, pair } = tokenizer.surround
    expect([before, after]).toEqual([[0], [2]])
    expect(pair).toEqual({ before: [0], between: [2, 2], after: [2], secondType: 0 })
  })

  it('byte pairs stand between the marks that the file says are added', () => {
    const { tokens, kinds, merges } = fixture
    const { surround } = made([
      ['tokenizer.ggml.model', 'gpt2'],
      ['tokenizer.ggml.pre', 'roberta-bpe'],
      ['tokenizer.ggml.tokens', tokens],
      ['tokenizer.ggml.token_type', kinds],
      ['tokenizer.ggml.merges', merges.map((pair) => pair.join(' '))],
      ['tokenizer.ggml.bos_token_id', 1],
      ['tokenizer.ggml.eos_token_id', 2],
      ['tokenizer.ggml.add_eos_token', true],
    ])
    expect([surround.before, surround.after]).toEqual([[], [2]])
  })

  it('a way to treat spaces that is not known is refused by name', () => {
    expect(() => unigram([['tokenizer.ggml.remove_extra_whitespaces', false]])).toThrow(
      /remove_extra_whitespaces = false/,
    )
  })
})
