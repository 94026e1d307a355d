import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../../test/support/full.js'
import { KIND, SPECIAL } from '../automata/kinds.js'
import { compile, fromSource, type Grammar, Vocabulary } from '../structured.js'
import {
  allowed,
  maskGrammars,
  masksByChance,
  pick,
  randomness,
  smallWords,
  tried,
  vocabularyOf,
} from '../testing.test-helper.js'
import type { Trie } from './trie.js'
import type { VocabularyOptions } from './vocabulary.js'

const utf8 = new TextEncoder()
const bytesOf = (text: string) => Uint8Array.from(text, (letter) => letter.charCodeAt(0))
const built = (texts: readonly string[], options: Partial<VocabularyOptions> = {}) =>
  new Vocabulary(texts.map(bytesOf), { eos: texts.length, ...options })

/** Tokens by where they are kept. */
function placesOf(vocabulary: Vocabulary) {
  const { whole, cut, quoted } = vocabulary
  const found = (trie: Trie) => [...trie.tokens].sort((a, b) => a - b)
  expect(vocabulary.tries).toEqual([whole, cut, quoted])
  return { whole: found(whole), cut: found(cut), quoted: found(quoted) }
}

/** Each byte of what begins here, as its own characters. */
const raw = (text: string) => String.fromCharCode(...utf8.encode(text))

describe('the tokens of a vocabulary', () => {
  it('have their bytes, and those without text none', () => {
    const tokens = [bytesOf('ab'), null, undefined, new Uint8Array(), bytesOf('\xff'), bytesOf('end'), bytesOf('tool')]
    const vocabulary = new Vocabulary(tokens, { eos: 5, special: [6] })
    const texts = [-2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8].map((token) => String.fromCharCode(...vocabulary.bytes(token)))
    expect(texts).toEqual(['', '', 'ab', '', '', '', '\xff', '', '', '', ''])
    expect([vocabulary.size, vocabulary.words, [...vocabulary.eos]]).toEqual([7, 1, [5]])
    expect([31, 32, 33, 64, 65].map((size) => built(Array(size).fill('a')).words)).toEqual([1, 1, 2, 2, 3])
  })

  it('that end a text, that are asked for by name and that are special stand for none', () => {
    const vocabulary = built(['a', 'b', 'c', 'd', 'e'], { eos: [0, 1], special: [2], named: { '<call>': 3 } })
    expect(placesOf(vocabulary)).toEqual({ whole: [4], cut: [], quoted: [] })
    expect([[...vocabulary.eos], [...vocabulary.named]]).toEqual([[0, 1], [['<call>', 3]]])
    expect(built(['a'], { eos: 0 }).named.size).toBe(0)
  })

  it.each([
    ['letters', 'ab', 'whole'],
    ['a character', raw('語'), 'whole'],
    ['a quote', 'a"', 'quoted'],
    ['a quote, and half a character', `"${raw('語').slice(0, 2)}`, 'quoted'],
    ['half a character', raw('語').slice(0, 1), 'cut'],
    ['letters and most of a character', `ab${raw('😀').slice(0, 3)}`, 'cut'],
    // What went before may have begun it.
    ['an end of a character and half another', `${raw('語').slice(2)}${raw('é').slice(0, 1)}`, 'cut'],
    ['the last three of a character and half another', `${raw('😀').slice(1)}${raw('é').slice(0, 1)}`, 'cut'],
    ['an end of a character and letters', `${raw('語').slice(1)}ab`, 'whole'],
    ['more than an end of a character', `${raw('語').slice(2).repeat(4)}${raw('é').slice(0, 1)}`, 'whole'],
    ['what is no UTF-8', '\xff', 'whole'],
    ['what is no UTF-8, behind letters', 'ab\xffab', 'whole'],
  ])('are kept by whether they close a string or end inside a character: %s', (_, text, place) => {
    expect(placesOf(built(['x', text]))).toEqual({
      whole: [0],
      cut: [],
      quoted: [],
      [place]: place === 'whole' ? [0, 1] : [1],
    })
  })

  it('of the same text stand beside each other, the first of them first', () => {
    const { whole } = built(['b', 'a', 'b', 'a', 'ab'])
    expect([...whole.tokens]).toEqual([1, 3, 4, 0, 2])
    expect(whole.token(whole.child(0, 0x62))).toBe(0)
  })

  it('are as long as they say where they are not plain, and as tall as they may be', () => {
    expect(built(['abcdef', 'a"c', 'a\\']).longestSpecial).toBe(3)
    expect(built(['abcdef', 'a\\', '"']).longestSpecial).toBe(2)
    expect(built(['abcdef', '\xff\xff\xff\xff']).longestSpecial).toBe(4)
    expect(built(['abcdef', raw('語語')]).longestSpecial).toBe(0)
    expect([built(['abc', raw('語語')]).tallest, built(['ab"d']).tallest]).toEqual([3, 4])
    expect(built(['a'.repeat(254)]).tallest).toBe(254)
    expect(built(['a'.repeat(255)]).tallest).toBe(Infinity)
  })
})

describe('a mask of plain content', () => {
  const vocabulary = built(['a', 'ab', 'abc', raw('é'), raw('é').slice(0, 1), '"', 'A'])

  it('holds tokens of so many characters, of the kinds that pass, and those that are cut where these may come', () => {
    const mask = (leaving: number, room: number, cut: boolean) => allowed(vocabulary.plainMask(leaving, room, cut), 7)
    expect(mask(1, 9, false)).toEqual([0, 1, 2, 3, 6])
    expect(mask(1, 9, true)).toEqual([0, 1, 2, 3, 4, 6])
    expect(mask(1, 2, false)).toEqual([0, 1, 3, 6])
    expect(mask(1, 1, true)).toEqual([0, 3, 4, 6])
    expect(mask(1, Infinity, false)).toEqual([0, 1, 2, 3, 6])
  })

  it('is of these kinds and this room alone, whatever else was asked for', () => {
    const whole = new Map([
      [0, 'a'],
      [1, 'ab'],
      [2, 'abc'],
      [3, 'é'],
      [6, 'A'],
    ])
    const kinds = [...new Set(KIND)].filter((kind) => kind !== SPECIAL)
    for (const leaving of kinds) {
      const stays = (text: string) =>
        raw(text)
          .split('')
          .every((byte) => (KIND[byte.charCodeAt(0)]! & leaving) === 0)
      for (const room of [1, 2, 3, 4]) {
        const wanted = [...whole].filter(([, text]) => text.length <= room && stays(text)).map(([token]) => token)
        const mask = vocabulary.plainMask(SPECIAL | leaving, room, false)
        expect([leaving, room, allowed(mask, 7)]).toEqual([leaving, room, wanted])
      }
    }
  })

  it('is made once', () => {
    expect(vocabulary.plainMask(1, 2, true)).toBe(vocabulary.plainMask(1, 2, true))
    const others = [
      vocabulary.plainMask(1, 2, false),
      vocabulary.plainMask(1, 3, true),
      vocabulary.plainMask(3, 2, true),
    ]
    for (const other of others) expect(other).not.toBe(vocabulary.plainMask(1, 2, true))
  })
})

describe('a vocabulary that is written down', () => {
  it('comes back as it was, from any place in a buffer', () => {
    const texts = fc.array(fc.string({ unit: 'binary', maxLength: 4 }).map(raw), { maxLength: 12 })
    fc.assert(
      fc.property(texts, fc.nat(3), (all, shift) => {
        const vocabulary = built(all, { eos: [all.length, 3], named: { '<a>': 1, ü: 2 } })
        const data = vocabulary.serialize()
        const shifted = new Uint8Array(data.length + shift)
        shifted.set(data, shift)
        const copy = Vocabulary.deserialize(shifted.subarray(shift))
        const contentOf = (of: Vocabulary) => ({
          ...{ size: of.size, eos: [...of.eos], named: [...of.named], special: of.longestSpecial, tallest: of.tallest },
          bytes: Array.from({ length: of.size }, (_, token) => [...of.bytes(token)]),
          tries: of.tries.map((trie) =>
            [trie.bytes, trie.first, trie.from, trie.kinds, trie.heights, trie.tokens].map((list) => [...list]),
          ),
        })
        expect(contentOf(copy)).toEqual(contentOf(vocabulary))
      }),
      { numRuns: runs(40) },
    )
  })

  it('is not taken for one where something is missing', () => {
    const data = built(['a', 'b']).serialize()
    expect(() => Vocabulary.deserialize(data.subarray(0, data.length >> 1))).toThrow()
    expect(() => Vocabulary.deserialize(new Uint8Array(100))).toThrow('this is not a serialised vocabulary')
  })

  it('holds the same strings to their grammars', () => {
    const copy = Vocabulary.deserialize(built(['"', 'a', '"a', 'b"'], { eos: 3 }).serialize())
    const constraint = compile({ const: 'a' }).start(copy)
    const mask = new Uint32Array(copy.words)
    constraint.mask(mask)
    expect(allowed(mask, 4)).toEqual([0, 2])
  })
})

describe('a vocabulary of a file', () => {
  const file = {
    model: { type: 'BPE', vocab: { a: 0, b: 1, '<end>': 2, '<stop>': 3 } },
    added_tokens: [
      { id: 2, content: '<end>', special: true },
      { id: 3, content: '<stop>', special: true },
    ],
  }

  it.each<[number | string | (number | string)[], number[]]>([
    [2, [2]],
    ['<end>', [2]],
    [
      ['<end>', 3],
      [2, 3],
    ],
    [[3], [3]],
  ])('ends texts by what is said: %j', (eos, ends) => {
    const vocabulary = Vocabulary.fromTokenizer(file, { eos })
    expect([[...vocabulary.eos], vocabulary.size]).toEqual([ends, 4])
  })
})

const words = smallWords()
const named = { '<call>': words.tokens.length, '<end>': words.tokens.length + 1 }
const withCalls = new Vocabulary([...words.tokens, undefined, undefined], { eos: [...words.eos, 0x0c], named })

const once = (items: object) => compile({ type: 'array', uniqueItems: true, minItems: 1, items })
const OTHERS: Readonly<Record<string, Grammar>> = {
  'listed items that come once': once({ enum: ['a', 'aa', 'name', 1, 12, true] }),
  'texts that come once': once({ type: 'string', maxLength: 2, pattern: '^[ab"]*$' }),
  'numbers that come once': once({ type: 'integer', minimum: 8 }),
  'any text or number': compile({ type: ['string', 'number', 'null'] }),
  'part of a text': compile(
    { type: 'array', items: { type: 'string', 'x-quote': true }, minItems: 2 },
    { quote: { texts: ['the name of the foo', 'a"b é語 12, foo'] } },
  ),
  'a call between tokens': fromSource({
    sequence: [{ without: ['foo'] }, { token: '<call>' }, { schema: { type: 'string' } }, { token: '<end>' }],
  }),
  'rules that end in many ways': fromSource({
    gbnf: 'root ::= e\ne ::= e "+" e | "a" | "(" e ")" | "\\"" [a-z]* "\\""',
  }),
}

it.each([...maskGrammars(), ...Object.entries(OTHERS)])('masks equal every token tried by itself: %s', (...one) => {
  for (const { name, masked, tokens } of masksByChance(withCalls, [one], 8, 1)) expect(masked, name).toEqual(tokens)
})

describe('a token that begins and ends inside a character', () => {
  it('is allowed exactly where the budget suffices to complete both', () => {
    const tokens = [
      ...Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte)),
      Uint8Array.of(0xa4, 0xed),
      undefined,
    ]
    const vocabulary = vocabularyOf({ tokens, eos: [257], special: [] })
    for (const budget of [2, 3, 4, 5]) {
      const constraint = compile({ type: 'string' }).start(vocabulary)
      for (const byte of [0x22, 0xe2, 0x80]) expect(constraint.accept(byte)).toBe(true)
      expect(constraint.closing(budget)).toBe(true)
      const mask = new Uint32Array(vocabulary.words)
      constraint.mask(mask)
      expect(allowed(mask, vocabulary.size), `budget ${budget}`).toEqual(tried(constraint, vocabulary))
      // What it begins takes two bytes more, and the quote one.
      expect(allowed(mask, vocabulary.size).includes(256)).toBe(budget >= 4)
    }
  })
})

describe('the shortest way out of a string', () => {
  it('takes of each character that may come the one of the fewest bytes', () => {
    // Of one class are a quote and é, which take two bytes, and of another the letter.
    const bytes = (schema: object) => compile({ type: 'string', ...schema }).shortest
    expect(bytes({ pattern: '^(?:["éa]a?)*$', minLength: 1, maxLength: 2 })).toBe(3)
    expect(bytes({ pattern: '^a?["\\\\éb]*$', minLength: 2 })).toBe(4)
  })
})

describe('the shortest way out of a text', () => {
  it.each([
    ['(?:a[abé"]é|b[ab]")', 3],
    ['aaé|bac', 3],
    ['😀|ccc', 3],
    ['(?:é|aa)c*d', 3],
  ])('takes the fewest bytes of all: %s', (regex, bytes) => {
    const constraint = fromSource({ regex }).start(vocabularyOf(smallWords()))
    expect(fromSource({ regex }).shortest).toBe(bytes)
    expect(constraint.closing(bytes)).toBe(true)
  })
})

describe('keys of which there are only so many', () => {
  const few = { patternProperties: { '^[xy]$': { type: 'null' } }, additionalProperties: false }
  const schemas = [
    { ...few, properties: { a: { enum: ['a'] } }, minProperties: 2 },
    { ...few, properties: { a: { enum: ['a'] }, b: { enum: [1] } }, minProperties: 3, maxProperties: 3 },
    { ...few, properties: { a: { enum: ['a'] } }, required: ['x'], minProperties: 3 },
    { ...few, minProperties: 2 },
    { propertyNames: { enum: ['x', 'y', 'xy'] }, additionalProperties: { enum: [1] }, minProperties: 3 },
  ]
  it.each(schemas.map((schema) => [JSON.stringify(schema), schema] as const))(
    'leave enough for all that must come: %s',
    (_, schema) => {
      const vocabulary = vocabularyOf(smallWords())
      const grammar = compile({ type: 'object', ...schema })
      const random = randomness(3)
      for (let i = 0; i < 30; i++) {
        // Without a budget no key is kept away by its cost.
        const constraint = grammar.start(vocabulary)
        const mask = new Uint32Array(vocabulary.words)
        while (!constraint.done) {
          constraint.mask(mask)
          expect(allowed(mask, vocabulary.size)).not.toEqual([])
          constraint.accept(pick(mask, vocabulary.size, random))
        }
      }
    },
  )
})
