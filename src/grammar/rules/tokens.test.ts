import { describe, expect, it } from 'vitest'
import { FULL } from '../../../test/support/full.js'
import { expectTokens } from '../same-tokens.test-helper.js'
import {
  choice,
  compile,
  fromSource,
  type Grammar,
  gbnf,
  lark,
  regex,
  repeat,
  sequence,
  structuralTag,
  without,
} from '../structured.js'
import { allowed, pick, randomness, realWords, smallWords, tried, vocabularyOf } from '../testing.test-helper.js'
import { Vocabulary } from '../tokens/vocabulary.js'

const TAGS = structuralTag({
  triggers: ['<f'],
  structures: [
    { begin: '<fa>', schema: { type: 'object', properties: { a: { type: 'integer' } } }, end: '</f>' },
    { begin: '<fb=', schema: { type: 'string', maxLength: 5 }, end: '>' },
  ],
})

const GRAMMARS: Record<string, Grammar> = {
  'any text': without(),
  'free text up to a mark, then a document': sequence([
    without('</a'),
    '</a>',
    compile({ type: 'object', additionalProperties: { type: 'integer' }, minProperties: 1 }),
  ]),
  'some characters': regex('[a-c]{2,9}(?: [^a"]{0,30})?'),
  'one of many': choice(['aa', 'a', 'foo', 'nana', 'é🙂', '{"a":1', compile({ type: 'string' })]),
  'sums, from both sides': gbnf('root ::= root [+-] t | t\nt ::= "a"+ "^" t | "a"+ | "(" root ")"'),
  'a calculation with blanks': lark(
    'start: n ("+" n)*\nn: INT | "(" start ")"\n%import common.INT\n%import common.WS\n%ignore WS',
  ),
  'rows of documents': repeat(sequence([compile({ enum: ['a', 'na', 1] }), '\n']), { min: 1, max: 5 }),
  'quotes before keys': sequence([regex('[{",a ]*'), compile({ type: 'object', required: ['a'] })]),
  'text with parts': TAGS,
  'a grammar within a string': sequence([
    '{"input":',
    fromSource({ quoted: { lark: 'start: "(" start ")" | /[^a()\\n]*\\n?"?/' } }),
    '}',
  ]),
  'control characters': regex('(?:a\\r\\n\\t?)+\\x00'),
}

const all = Object.entries(GRAMMARS)
/** Large ones share the grammars where not all is asked for. */
const half = (turn: number) => all.filter((_, i) => FULL || i % 2 === turn)
const vocabularies: [string, () => Vocabulary, number, number, [string, Grammar][]][] = [
  ['a small one', () => vocabularyOf(smallWords()), 8, 1, all],
  ['GPT-2', () => vocabularyOf(realWords('gpt2')), 2, 0.3, half(0)],
  ['Qwen 2.5', () => vocabularyOf(realWords('qwen2_5')), 1, 0.15, half(1)],
]

describe('masks of texts beyond JSON equal every token tried by itself', () => {
  for (const [vocabularyName, load, walks, share, grammars] of vocabularies) {
    it(`with ${vocabularyName}`, () => {
      const vocabulary = load()
      const random = randomness(23)
      const mask = new Uint32Array(vocabulary.words)
      for (const [name, grammar] of grammars) {
        for (let walk = 0; walk < walks * 3; walk++) {
          const constraint = grammar.start(vocabulary)
          const spare = [Infinity, 2 + Math.floor(random() * 12), 0][walk % 3]!
          let bytes: number[] = []
          for (let left = constraint.shortest + spare, i = 0; left > 0 && i < 16 && !constraint.done; left--, i++) {
            if (left < Infinity) expect(constraint.closing(left), `${name}, ${i}`).toBe(true)
            constraint.mask(mask)
            if (random() < share)
              expectTokens(allowed(mask, vocabulary.size), tried(constraint, vocabulary), `${name}, ${i}`)
            const token = pick(mask, vocabulary.size, random)
            expect(constraint.accept(token), `${name}, ${i}`).toBe(true)
            if (vocabulary.eos.includes(token)) break
            bytes = [...bytes, ...vocabulary.bytes(token)]
          }
          // Whatever was begun within a budget ends within it, and is a text of the grammar.
          if (spare < Infinity) {
            for (let i = 0; i < 40 && constraint.shortest > 0; i++) {
              expect(constraint.closing(constraint.shortest)).toBe(true)
              constraint.mask(mask)
              const token = pick(mask, vocabulary.size, random)
              expect(constraint.accept(token), name).toBe(true)
              bytes = [...bytes, ...vocabulary.bytes(token)]
            }
            const text = new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(bytes))
            expect(grammar.accepts(text), `${name}: ${JSON.stringify(text)}`).toBe(true)
          }
        }
      }
    })
  }
})

describe('a token that stands for no text', () => {
  const words = smallWords()
  const tokens = [...words.tokens, undefined, undefined]
  const [call, end] = [tokens.length - 2, tokens.length - 1]
  const vocabulary = new Vocabulary(tokens, { eos: words.eos, named: { '<call>': call, '<end>': end } })
  const grammar = fromSource({
    sequence: [
      { without: [] },
      { token: '<call>' },
      { schema: { type: 'object', maxProperties: 0 } },
      { token: '<end>' },
    ],
  })

  it('comes where it must and counts as one', () => {
    const constraint = grammar.start(vocabulary)
    const mask = new Uint32Array(vocabulary.words)
    const document = constraint.shortest - 2
    expect(document === 1 || document === 2).toBe(true)
    constraint.mask(mask)
    expect(allowed(mask, vocabulary.size)).toContain(call)
    expect(allowed(mask, vocabulary.size)).not.toContain(end)
    expect(constraint.accept(0x61) && constraint.accept(call)).toBe(true)
    expect(constraint.closing(document)).toBe(false)
    expect(new TextDecoder().decode(constraint.forced())).toBe('{}')
    expect(constraint.accept(0x7b) && constraint.accept(0x7d)).toBe(true)
    expect(constraint.forced()).toHaveLength(0)
    constraint.mask(mask)
    expect(allowed(mask, vocabulary.size)).toEqual([end])
    expect(constraint.accept(end)).toBe(true)
    expect(constraint.done).toBe(true)
  })

  it('is kept with the vocabulary', () => {
    expect(Vocabulary.deserialize(vocabulary.serialize()).named).toEqual(vocabulary.named)
  })

  it('must be one that the model has', () => {
    const bare = vocabularyOf(smallWords())
    expect(() => grammar.start(bare)).toThrow("the model has no token '<call>'")
  })
})
