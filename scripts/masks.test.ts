import { describe, expect, it } from 'vitest'
import { SAMPLES } from '../src/grammar/samples.test-helper.js'
import { compile, Vocabulary } from '../src/grammar/structured.js'
import { randomness } from '../src/grammar/testing.test-helper.js'
import { runs, turns } from '../test/support/full.js'
import { arrangements, type Language, language } from './masks/languages.js'
import { newProof, proveAccepted, proveEverywhere, proveLanguage, proveWritten, Segments } from './masks/proof.js'
import { madeUpTokenizer, smallVocabulary, tinyVocabulary } from './masks/vocabularies.js'

/** A seeded part of check-masks.ts. */
describe('a mask allows a token if and only if', () => {
  it('a text of the language begins so and can be completed within the budget', () => {
    const random = randomness(3)
    const proof = newProof()
    for (let i = 0; i < runs(60, 2); i++) {
      const found = language(random)
      if (found !== undefined) proveLanguage(proof, found, smallVocabulary(random, i % 2 === 0), random)
    }
    expect(proof.faults).toEqual([])
    expect(proof.triples).toBeGreaterThan(runs(50_000, 2))
  })

  /** Which key or item is being written decides what the others cost that must still come. */
  it.each([
    [['', 'a', 'ab', 'abé'], 2],
    [['a', 'aa', 'aaaa', '"', '""'], 2],
    [['a', 'b', 'aa', 'ab', '"a'], 3],
    [['aaaa', 'ab', 'b', 'bé'], 1],
  ])('at every place and within every budget: %j, of which %d must come', (words, least) => {
    const proof = newProof()
    const random = randomness(7)
    const pattern = (some: readonly string[]) => `^(?:${some.join('|')})$`
    const [light, heavy] = [words.filter((word) => word.length !== 1), words.filter((word) => word.length === 1)]
    const rows = [least, least + 1].flatMap((n) => arrangements(words, n))
    const member = (key: string) => `${JSON.stringify(key)}:${heavy.includes(key) ? 'false' : '1'}`
    const languages: Language[] = [
      {
        name: 'texts',
        source: {
          schema: {
            type: 'array',
            uniqueItems: true,
            items: { type: 'string', pattern: pattern(words) },
            minItems: least,
            maxItems: least + 1,
          },
        },
        texts: new Set(rows.map((row) => JSON.stringify(row))),
        whole: Infinity,
      },
      {
        name: 'keys',
        source: {
          schema: {
            type: 'object',
            patternProperties: { [pattern(light)]: { const: 1 }, [pattern(heavy)]: { const: false } },
            additionalProperties: false,
            minProperties: least,
            maxProperties: least + 1,
          },
        },
        texts: new Set(rows.map((row) => `{${row.map(member).join(',')}}`)),
        whole: Infinity,
      },
    ]
    // Each language with one of the vocabularies, and the other one beside other words.
    for (const [i, one] of languages.entries()) {
      for (const pieces of turns([0, 20], i + words.length, 2))
        proveEverywhere(proof, one, tinyVocabulary(random, one.texts, pieces))
    }
    expect(proof.faults).toEqual([])
    expect(proof.triples).toBeGreaterThan(1000)
  })

  for (const [turn, spelling] of (['byte-level', 'sentencepiece'] as const).entries()) {
    it(`it is accepted, with 32,000 made-up tokens, ${spelling}`, () => {
      const random = randomness(5)
      const proof = newProof()
      const vocabulary = Vocabulary.fromTokenizer(madeUpTokenizer(random, 32_000, spelling), { eos: '</s>' })
      for (const [name, schema] of turns(Object.entries(SAMPLES), turn, 2)) {
        proveAccepted(proof, name, compile(schema).start(vocabulary), vocabulary, random, 40)
      }
      expect(proof.faults).toEqual([])
      expect(proof.triples).toBeGreaterThan(10_000)
    })
  }

  it('it is the next of some way to write a document', () => {
    const random = randomness(9)
    const proof = newProof()
    const vocabulary = smallVocabulary(random, false)
    const segments = new Segments(vocabulary)
    const grammar = compile({ type: 'object', properties: { a: { type: ['string', 'null'] } }, required: ['na'] })
    for (const text of ['{"a":"bé\\n😀","na":null}', '{"na":[1,-1,true]}', '{"a":null,"na":{"é\\"":"\\\\"},"b":-1}']) {
      expect(grammar.accepts(text)).toBe(true)
      for (let i = 0; i < 40; i++) {
        const tokens = segments.random(text, random)
        proveWritten(proof, text, grammar.start(vocabulary), vocabulary, tokens, Buffer.byteLength(text))
      }
    }
    expect(proof.faults).toEqual([])
  })
})

describe('the proof', () => {
  const digits: Language = {
    name: 'numbers below 100',
    source: { schema: { type: 'integer', minimum: 0, maximum: 99 } },
    texts: new Set(Array.from({ length: 100 }, (_, n) => String(n))),
    whole: Infinity,
  }
  const faults = (texts: ReadonlySet<string>) => {
    const proof = newProof()
    proveLanguage(proof, { ...digits, texts }, smallVocabulary(randomness(1), true), randomness(2))
    return proof.faults.length
  }

  it('fails where a mask allows too much, or too little', () => {
    expect(faults(digits.texts)).toBe(0)
    expect(faults(new Set([...digits.texts].filter((text) => !text.startsWith('7'))))).toBeGreaterThan(0)
    expect(faults(new Set([...digits.texts, '-1']))).toBeGreaterThan(0)
  })
})
