import { describe, expect, it, vi } from 'vitest'
import { closed } from '../../test/support/closed.js'
import { runs } from '../../test/support/full.js'
import { isStretch } from '../platform/borders.js'
import { atOnce } from '../platform/turns.js'
import { Fuel } from './fuel.js'
import { judge } from './judge.js'
import { quoted, texts as someTexts } from './quotes.test-helper.js'
import { expectTokens } from './same-tokens.test-helper.js'
import { compile, compileInSlices, fromSource, GrammarCache, SchemaError } from './structured.js'
import {
  allowed,
  masksOnTheWay,
  randomDocument,
  randomness,
  realWords,
  smallWords,
  vocabularyOf,
} from './testing.test-helper.js'
import { fromSourceInSlices } from './texts.js'

const small = vocabularyOf(smallWords())

/** Each meets the stretches in another way. */
const SCHEMAS: readonly (readonly [string, unknown, (text: string) => boolean])[] = [
  ['alone', quoted, () => true],
  ['or null', { ...quoted, type: ['string', 'null'] }, () => true],
  ['with a pattern', { ...quoted, pattern: 'a' }, (text) => text.includes('a')],
  ['with the contrary of one', { ...quoted, not: { pattern: 'a' } }, (text) => !text.includes('a')],
  ['with limits', { ...quoted, minLength: 3, maxLength: 9 }, (text) => length(text) > 2 && length(text) < 10],
  ['with an upper limit', { ...quoted, maxLength: 4 }, (text) => length(text) < 5],
  ['with a least length', { ...quoted, minLength: 1 }, () => true],
  ['beside others', { anyOf: [quoted, { type: 'integer' }] }, () => true],
]
const length = (text: string) => Array.from(text).length

function compiled(schema: unknown, texts: readonly string[], all = false) {
  try {
    return compile(schema, { quote: { texts, all } })
  } catch (error) {
    if (error instanceof SchemaError && error.message.includes('no value')) return undefined
    throw error
  }
}

describe('a quoted string', () => {
  it('is every stretch of its texts that the rest of its schema admits, and nothing else', () => {
    const random = randomness(3)
    for (let round = 0; round < runs(240); round++) {
      const texts = someTexts(random)
      const [name, schema, admits] = SCHEMAS[round % SCHEMAS.length]!
      const wanted = new Set<string>()
      const others = new Set(['', 'a', 'ab', ' '])
      for (const text of texts) {
        const letters = Array.from(text)
        for (let i = 0; i < letters.length; i++) {
          for (let j = i + 1; j <= letters.length; j++) others.add(letters.slice(i, j).join(''))
        }
      }
      for (const one of others) if (admits(one) && texts.some((text) => isStretch(text, one))) wanted.add(one)
      const grammar = compiled(schema, texts)
      if (grammar === undefined) expect([name, texts, wanted.size]).toEqual([name, texts, 0])
      const found = [...others].filter((one) => grammar?.accepts(JSON.stringify(one)))
      const nothing = texts.every((text) => text.trim() === '')
      if (nothing) continue
      expect([name, texts, found.sort()]).toEqual([name, texts, [...wanted].sort()])
      const judged = [...others].filter((one) => judge(schema, one, undefined, { texts }))
      expect([name, texts, judged.sort()]).toEqual([name, texts, [...wanted].sort()])
    }
  })

  it('is empty where there is nothing to quote, and nowhere else', () => {
    for (const texts of [[], [''], [' \n', '\u00a0'], [' \n\u0301\n'], ['\ud800', ' \udc00 ']]) {
      const grammar = compile(quoted, { quote: { texts } })
      expect([grammar.accepts('""'), grammar.accepts('" "')]).toEqual([true, false])
      expect(judge(quoted, '', undefined, { texts })).toBe(true)
    }
    expect(compile(quoted, { quote: { texts: ['', 'a'] } }).accepts('""')).toBe(false)
    expect(judge(quoted, '', undefined, { texts: ['', 'a'] })).toBe(false)
  })

  it('never goes from one text to the next', () => {
    const grammar = compile(quoted, { quote: { texts: ['one two', 'three'] } })
    for (const [text, right] of [
      ['one two', true],
      ['three', true],
      ['two three', false],
      ['twothree', false],
    ] as const) {
      expect([text, grammar.accepts(JSON.stringify(text))]).toEqual([text, right])
    }
  })

  it('is written as JSON writes it', () => {
    const text = 'say "no\\yes"\n\tand \u0001 𝒳 é'
    const grammar = compile(quoted, { quote: { texts: [text] } })
    expect(grammar.accepts(JSON.stringify(text))).toBe(true)
    expect(grammar.accepts(JSON.stringify('no\\yes"\n\tand \u0001'))).toBe(true)
    expect(grammar.accepts('"\\u0073ay"')).toBe(false)
  })

  it('may be one of an enum that stands there', () => {
    const grammar = compile(
      { enum: ['red', 'green', 'blue'], 'x-quote': true },
      { quote: { texts: ['greenish, blue'] } },
    )
    const found = ['red', 'green', 'blue'].filter((one) => grammar.accepts(JSON.stringify(one)))
    expect(found).toEqual(['blue'])
    expect(() => compile({ const: 'red', ...quoted }, { quote: { texts: ['blue'] } })).toThrow('no value')
  })

  it('may be an item of which none comes twice', () => {
    const list = { type: 'array', items: quoted, uniqueItems: true }
    const grammar = compile(list, { quote: { texts: ['a b'] } })
    const found = ['[]', '["a"]', '["a","b"]', '["a","b","a b"]', '["a","a"]', '["a b","c"]']
    expect(found.filter((text) => grammar.accepts(text))).toEqual(found.slice(0, 4))
  })
})

describe('with all strings quoted', () => {
  const texts = ['Ann has 3 cats']

  it('those that the schema spells out stay as they are', () => {
    const schema = closed({ kind: { enum: ['pet', 'cats'] }, name: { type: 'string' }, of: { const: 'x' } })
    const grammar = compile(schema, { quote: { texts, all: true } })
    for (const [value, right] of [
      [{ kind: 'pet', name: 'Ann', of: 'x' }, true],
      [{ kind: 'cats', name: '3 cats', of: 'x' }, true],
      [{ kind: 'pet', name: 'pet', of: 'x' }, false],
      [{ kind: 'pet', name: 'An', of: 'x' }, false],
    ] as const) {
      expect([value, grammar.accepts(JSON.stringify(value))]).toEqual([value, right])
      // The judge is told of what is spelled out somewhere, and not of where.
      if (value.name !== 'pet') {
        expect([value, judge(schema, value, undefined, { texts, all: true })]).toEqual([value, right])
      }
    }
  })

  it('values of any kind hold quotes, however deep, and names of properties are free', () => {
    const grammar = compile({ type: 'object' }, { quote: { texts, all: true } })
    for (const [value, right] of [
      [{ any: [{ other: 'Ann' }, 3, null] }, true],
      [{ any: [{ other: 'Anne' }] }, false],
      [{ any: 'Ann has' }, true],
    ] as const) {
      expect([value, grammar.accepts(JSON.stringify(value))]).toEqual([value, right])
      expect([value, judge({ type: 'object' }, value, undefined, { texts, all: true })]).toEqual([value, right])
    }
  })
})

describe('what is asked of quotes of a long text', () => {
  const random = randomness(5)
  const text = Array.from({ length: 25_000 }, () => Math.floor(random() * 2 ** 20).toString(36)).join(' ')
  const digit = { pattern: '[0-9]' }

  it.each<[string, unknown]>([
    ['beside it', { ...quoted, ...digit }],
    ['by allOf', { allOf: [quoted, digit] }],
    ['by a reference', { $ref: '#/$defs/quote', ...digit, $defs: { quote: quoted } }],
    ['by if and else', { ...quoted, if: { pattern: '^a' }, else: digit }],
    ['by one of several', { ...quoted, anyOf: [digit, { pattern: '^a' }] }],
    ['by what it is not', { allOf: [quoted, { not: digit }] }],
    ['by limits', { allOf: [{ allOf: [quoted, { minLength: 9 }] }, { ...digit, maxLength: 30 }] }],
    ['of a property elsewhere', { allOf: [closed({ a: quoted }), { properties: { a: digit } }] }],
  ])('lets others work every few steps, %s', (_, schema) => {
    const spent = vi.spyOn(Fuel.prototype, 'spend')
    const steps = () => spent.mock.calls.reduce((sum, [count]) => sum + count, 0)
    let [most, before, pauses] = [0, 0, 0]
    for (const work = compileInSlices(schema, { quote: { texts: [text] } }); !work.next().done; pauses++) {
      most = Math.max(most, steps() - before)
      before = steps()
    }
    most = Math.max(most, steps() - before)
    spent.mockRestore()
    // Its automaton alone has as many states as the text has characters.
    expect(pauses).toBeGreaterThan(text.length / 8192)
    expect(most).toBeLessThan(4000)
  })
})

describe('what cannot be is refused by name', () => {
  const refusal = (schema: unknown, options = {}) => {
    try {
      compile(schema, options)
    } catch (error) {
      if (error instanceof SchemaError) return { keyword: error.keyword, path: error.path, message: error.message }
      throw error
    }
    return undefined
  }
  const quote = { texts: ['one two three '.repeat(20_000)] }

  it.each([
    ['where there are no texts', closed({ a: quoted }), {}, ['properties', 'a']],
    [
      'where it says neither yes nor no',
      closed({ a: { type: 'string', 'x-quote': 'yes' } }),
      { quote },
      ['properties', 'a'],
    ],
    ['for names', { type: 'object', propertyNames: quoted }, { quote }, ['propertyNames']],
    ['with a length that is too much', closed({ a: { ...quoted, minLength: 900 } }), { quote }, ['properties', 'a']],
    ['denied of long texts', closed({ a: { not: quoted } }), { quote }, ['properties', 'a', 'not']],
    ['with texts that are too long', quoted, { quote: { texts: ['a'.repeat(2 ** 20), 'b'] } }, []],
  ])('%s', (_, schema, options, path) => {
    const found = refusal(schema, options)
    expect(found?.keyword).toBe('x-quote')
    expect(found?.path.slice(0, 2)).toEqual(path.slice(0, 2))
  })

  it('and so is its misspelling', () => {
    expect(refusal({ type: 'string', quote: true })?.message).toContain("did you mean 'x-quote'")
    expect(compile({ type: 'string', quote: 'a saying' }).accepts('"x"')).toBe(true)
  })

  it('or, leniently, left out and told of', () => {
    const grammar = compile(closed({ a: quoted }), { strict: false })
    expect(grammar.notEnforced).toMatchObject([{ keyword: 'x-quote' }])
    expect(grammar.accepts('{"a":"anything"}')).toBe(true)
  })
})

describe('masks', () => {
  const schema = closed({ a: quoted, b: { ...quoted, maxLength: 6 }, c: { ...quoted, type: ['string', 'null'] } })

  it('are what can be accepted, also where the budget is small', () => {
    const random = randomness(11)
    for (let round = 0; round < 60; round++) {
      const grammar = compiled(schema, someTexts(random))
      if (grammar === undefined) continue
      for (const { closes, masked, tokens } of masksOnTheWay(grammar, small, random)) {
        expect(closes).toBe(true)
        expectTokens(masked, tokens)
      }
    }
  })

  it('of a real vocabulary too', () => {
    const vocabulary = vocabularyOf(realWords('gpt2'))
    const random = randomness(12)
    const text = 'Ann Lee (1,250.00 "new" lamps)\nfor Zoë — in 北京 and Straße 3.'
    const grammar = compile(schema, { quote: { texts: [text] } })
    for (let round = 0; round < 2; round++) {
      for (const { masked, tokens } of masksOnTheWay(grammar, vocabulary, random)) expectTokens(masked, tokens)
    }
  })

  it('let every document be written to its end within whatever budget it has', () => {
    const random = randomness(13)
    for (let round = 0; round < runs(1200); round++) {
      const texts = someTexts(random)
      const grammar = compiled(schema, texts)
      if (grammar === undefined) continue
      const constraint = grammar.start(small)
      const document = randomDocument(constraint, small, constraint.shortest + Math.floor(random() * 20), random)
      const { a, b, c } = JSON.parse(document)
      const nothing = texts.every((text) => text.trim() === '')
      for (const one of [a, b, c]) {
        const right = one === null || (nothing ? one === '' : texts.some((text) => isStretch(text, one)))
        expect([texts, document, right]).toEqual([texts, document, true])
      }
    }
  })

  it('go on behind a document cut anywhere', () => {
    const text = 'Ann Lee lives in Rome.'
    const grammar = compile(quoted, { quote: { texts: [text] } })
    const mask = new Uint32Array(small.words)
    const constraint = grammar.start(small)
    for (const byte of new TextEncoder().encode('"Lee lives')) expect(constraint.accept(byte)).toBe(true)
    constraint.mask(mask)
    expect(allowed(mask, small.size).map((token) => String.fromCharCode(...small.bytes(token)))).toEqual(
      expect.arrayContaining([' ', '"']),
    )
    expect(constraint.forced()).toEqual(new Uint8Array(0))
    expect(constraint.accept(0x20)).toBe(true)
    expect(String.fromCharCode(...constraint.forced())).toBe('in')
  })
})

describe('what is made for one text', () => {
  const source = { schema: quoted, quote: { texts: ['one two'] } }

  it('is not kept for the next', () => {
    const cache = new GrammarCache({ maxBytes: 2 ** 24 })
    const whole = fromSource({ sequence: ['<', source, '>'] }, { cache })
    expect(whole.accepts('<"two">')).toBe(true)
    expect(atOnce(fromSourceInSlices(source, { cache })).accepts('"one"')).toBe(true)
    expect(cache.size).toBe(0)
  })

  it('is given back with its grammar', async () => {
    const { gc } = globalThis as { gc?: () => void }
    const held = () => {
      const grammar = compile(quoted, { quote: { texts: ['one two three'] } })
      randomDocument(grammar.start(small), small, 30, randomness(1))
      return new WeakRef(grammar)
    }
    const reference = held()
    // Only where the collector can be asked.
    if (!gc) return
    await new Promise((resolve) => setTimeout(resolve, 0))
    gc()
    expect(reference.deref()).toBeUndefined()
  })
})
