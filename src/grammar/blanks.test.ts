import { describe, expect, it } from 'vitest'
import { SAMPLES } from './samples.test-helper.js'
import { compile, type LayoutOption } from './structured.js'
import {
  masksOnTheWay,
  randomDocument,
  randomness,
  realWords,
  smallWords,
  vocabularyOf,
} from './testing.test-helper.js'

const small = vocabularyOf(smallWords())
const BLANKS = [' ', '\n', '\t', '\r']
const STRUCTURE = /"(?:[^"\\]|\\.)*"|[^\s[\]{}:,"]+|[[\]{}:,]/g

/** The words of a JSON text, without the white space between them. */
const wordsOf = (text: string): string[] => text.match(STRUCTURE) ?? []

/** A text with at most so much white space between any two words, and somewhere that much. */
function loosened(compact: string, most: number, random: () => number): string {
  const words = wordsOf(compact)
  const full = Math.floor(random() * (words.length - 1))
  return words.reduce((text, word, i) => {
    const count = i - 1 === full ? most : Math.floor(random() * (most + 1))
    return text + Array.from({ length: count }, () => BLANKS[Math.floor(random() * 4)]!).join('') + word
  })
}

describe('white space that is left to the model', () => {
  it.each([1, 3])('may be anywhere between two words, at most %i bytes in a row', (whitespace) => {
    const random = randomness(whitespace)
    for (const [name, schema] of Object.entries(SAMPLES)) {
      const compact = compile(schema)
      const grammar = compile(schema, { layout: { whitespace } })
      for (let walk = 0; walk < 5; walk++) {
        const start = compact.start(small)
        const text = randomDocument(start, small, start.shortest + Math.floor(random() * 40), random)
        const words = wordsOf(text)
        const loose = loosened(text, whitespace, random)
        expect([name, loose, grammar.accepts(loose)]).toEqual([name, loose, true])
        expect(grammar.accepts(text)).toBe(true)
        expect(grammar.accepts(` ${text}`)).toBe(false)
        expect(grammar.accepts(`${text}\n`)).toBe(false)
        for (let i = 1; i < Math.min(words.length, 12); i++) {
          const spaced = (count: number) => words.slice(0, i).join('') + ' '.repeat(count) + words.slice(i).join('')
          expect([name, spaced(whitespace), grammar.accepts(spaced(whitespace))]).toEqual([
            name,
            spaced(whitespace),
            true,
          ])
          expect([name, spaced(whitespace + 1), grammar.accepts(spaced(whitespace + 1))]).toEqual([
            name,
            spaced(whitespace + 1),
            false,
          ])
        }
      }
    }
  })

  it('makes no difference to what a document says, nor to the shortest one', () => {
    const random = randomness(5)
    const qwen = vocabularyOf(realWords('qwen2_5'))
    for (const [name, schema] of Object.entries(SAMPLES)) {
      const compact = compile(schema)
      const grammar = compile(schema, { layout: { whitespace: 20 } })
      expect(grammar.shortest, name).toBe(compact.shortest)
      for (const vocabulary of [small, qwen]) {
        const start = grammar.start(vocabulary)
        expect(start.shortest).toBe(compact.start(vocabulary).shortest)
        const text = randomDocument(start, vocabulary, start.shortest + Math.floor(random() * 60), random)
        expect([name, text, compact.accepts(wordsOf(text).join(''))]).toEqual([name, text, true])
      }
    }
  })

  it.each(Object.keys(SAMPLES))('has masks that equal every token tried by itself: %s', (name) => {
    const random = randomness(name.length)
    for (const whitespace of [1, 2, 100]) {
      const grammar = compile(SAMPLES[name], { layout: { whitespace } })
      for (let walk = 0; walk < 2; walk++) {
        for (const { closes, masked, tokens } of masksOnTheWay(grammar, small, random)) {
          expect(closes).toBe(true)
          expect(masked).toEqual(tokens)
        }
      }
    }
  })

  it('may be of some kinds alone', () => {
    const random = randomness(5)
    for (const [name, schema] of Object.entries(SAMPLES)) {
      const grammar = compile(schema, { layout: { whitespace: 2, of: ' \t' } })
      for (let walk = 0; walk < 5; walk++) {
        const start = grammar.start(small)
        const text = randomDocument(start, small, start.shortest + Math.floor(random() * 40), random)
        // No string holds a line break as it is: one that stands there would be of the layout.
        expect([name, /[\n\r]/.test(text)]).toEqual([name, false])
      }
    }
    const accepts = (text: string) => compile({ const: [1] }, { layout: { whitespace: 2, of: ' \t' } }).accepts(text)
    expect([accepts('[\t 1 ]'), accepts('[\n1]'), accepts('[   1]')]).toEqual([true, false, false])
  })

  it.each([
    { whitespace: 0 },
    { whitespace: 2, of: '' },
    { whitespace: 2, of: 'x' },
    { whitespace: 101 },
    { whitespace: 1.5 },
    { whitespace: 2, indent: 2 },
  ])('has a bound: not %j', (layout) => {
    expect(() => compile(true, { layout: layout as LayoutOption })).toThrow(/at most 1 to 100 bytes in a row/)
  })
})
