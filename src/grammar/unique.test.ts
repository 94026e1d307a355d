import { Ajv2020 as Ajv } from 'ajv/dist/2020.js'
import { describe, expect, it } from 'vitest'
import { judge } from './judge.js'
import { compile, sequence } from './structured.js'
import { allowed, randomDocument, randomness, refusal, smallWords, tried, vocabularyOf } from './testing.test-helper.js'

const ajv = new Ajv({ strict: false })
const small = vocabularyOf(smallWords())

/** Every array of these, up to a length. */
function* arrays(of: readonly unknown[], length: number): Generator<unknown[]> {
  yield []
  if (length > 0) for (const rest of arrays(of, length - 1)) for (const item of of) yield [item, ...rest]
}

describe('items that may not repeat', () => {
  const listed = { type: 'array', uniqueItems: true, items: { enum: ['x', 'xy', 1, null] } }

  it.each<[string, object]>([
    ['any number', {}],
    ['at least some', { minItems: 2 }],
    ['at most some', { maxItems: 2 }],
    ['exactly all', { minItems: 4 }],
    ['one at most', { maxItems: 1 }],
    ['truths', { items: { type: ['boolean', 'null'] }, minItems: 1 }],
    ['those that two schemas share', { allOf: [{ items: { enum: ['xy', 1, 5] } }] }],
    ['equal ones that look different', { items: { enum: [{ a: 1, b: 2 }, { b: 2, a: 1 }, 1] } }],
    ['of an alternative', { items: { anyOf: [{ const: 'x' }, { const: 1 }, { type: 'null' }] } }],
    ['objects', { items: { const: { a: 1 } } }],
  ])('are as ajv has them: %s', (_, more) => {
    const schema = { ...listed, ...more }
    const grammar = compile(schema)
    const validate = ajv.compile(schema)
    for (const array of arrays(['x', 'xy', 1, null, true, { a: 1 }], 4)) {
      expect(grammar.accepts(JSON.stringify(array)), JSON.stringify(array)).toBe(validate(array))
    }
  })

  it('are laid out like others', () => {
    const grammar = compile({ ...listed, minItems: 2 }, { layout: { indent: 2 } })
    expect(grammar.accepts(JSON.stringify(['xy', 'x'], null, 2))).toBe(true)
    expect(grammar.accepts(JSON.stringify(['x', 'x'], null, 2))).toBe(false)
  })

  it('cannot be more than there are', () => {
    expect(() => compile({ ...listed, minItems: 5 })).toThrow('no value can satisfy')
    expect(compile({ anyOf: [{ ...listed, minItems: 5 }, { type: 'null' }] }).accepts('null')).toBe(true)
  })

  it('may be many', () => {
    const items = { enum: Array.from({ length: 30 }, (_, i) => `tag-${i}`) }
    const grammar = compile({ ...listed, items })
    expect(grammar.accepts(JSON.stringify(items.enum.toReversed()))).toBe(true)
    expect(grammar.accepts(JSON.stringify([...items.enum, 'tag-29']))).toBe(false)
  })

  const letters = { type: 'string', maxLength: 2, pattern: '^[ab"]*$' }

  it.each<[string, object]>([
    ['any number', { items: { type: 'string' } }],
    ['as many as there are', { items: { ...letters, minLength: 1, maxLength: 1 }, minItems: 3 }],
    ['at most some', { items: letters, maxItems: 2 }],
    ['of alternatives', { items: { anyOf: [{ enum: ['a', 'x'] }, { ...letters, minLength: 2 }] }, minItems: 1 }],
    ['more than can be numbered', { items: { enum: ['a', 'b', ...Array.from({ length: 40 }, (_, i) => `x${i}`)] } }],
  ])('may be texts: %s', (_, more) => {
    const schema = { type: 'array', uniqueItems: true, ...more }
    const grammar = compile(schema)
    const validate = ajv.compile(schema)
    for (const array of arrays(['a', 'b', '"', 'ab', 'aé', ''], 4)) {
      expect(grammar.accepts(JSON.stringify(array)), JSON.stringify(array)).toBe(validate(array))
      expect(judge(schema, array)).toBe(validate(array))
    }
  })

  it('may not be more texts than there are', () => {
    const items = { ...letters, minLength: 1, maxLength: 1 }
    expect(() => compile({ type: 'array', uniqueItems: true, items, minItems: 4 })).toThrow('no value can satisfy')
  })

  it.each<[string, object]>([
    ['any', { items: {} }],
    ['objects in which other keys may come', { items: { type: 'object' } }],
    ['objects of which the keys come in two orders', { items: { anyOf: [pair('a', 'b'), pair('b', 'a')] } }],
    ['two of many', { items: { type: 'integer' }, minItems: 2 }],
    ['so many texts', { items: { type: 'string' }, minItems: 301 }],
    ['arrays of such', { items: { type: 'array', items: { type: 'string' }, uniqueItems: true } }],
    ['by place', { prefixItems: [{ const: 1 }] }],
    ['counted', { contains: { const: 1 } }],
  ])('are refused where they cannot be told apart: %s', (_, more) => {
    const schema = { ...listed, ...more }
    const error = refusal(schema)
    expect([error.keyword, error.path]).toEqual(['uniqueItems', []])
    const lenient = compile(schema, { strict: false })
    expect(lenient.notEnforced.map(({ keyword }) => keyword)).toEqual(['uniqueItems'])
  })

  it('are refused with white space left to the model', () => {
    const schema = { type: 'array', uniqueItems: true, items: { type: 'integer' } }
    expect(() => compile(schema, { layout: { whitespace: 2 } })).toThrow("'uniqueItems' is supported only")
  })
})

/** Closed objects of two members. */
function pair(...keys: readonly [string, string]) {
  const properties = Object.fromEntries(keys.map((key) => [key, { type: ['boolean', 'string'] }]))
  return { type: 'object', properties, additionalProperties: false }
}

const KEYWORDS: Readonly<Record<string, object>> = {
  numbers: { items: { type: 'number' } },
  'whole numbers, few': { items: { type: 'integer', minimum: 8, maximum: 11 }, maxItems: 5 },
  'closed objects': { items: pair('a', 'b'), minItems: 1 },
  'required members': { items: { ...pair('a', 'b'), required: ['b'] } },
  'objects, few': { items: { ...pair('a', 'b'), properties: { a: { type: 'boolean' }, b: { const: 1 } } } },
  arrays: { items: { type: 'array', items: { enum: [1, 12, true] }, maxItems: 2 } },
  'texts beside others': { items: { type: ['string', 'null', 'integer'], maxLength: 2 } },
  'more than 30 that are listed': { items: { enum: Array.from({ length: 40 }, (_, i) => i) } },
  'unique ones within': { items: { type: 'array', items: { enum: ['a', 1] }, uniqueItems: true } },
  'one inside the other': {
    items: {
      type: 'object',
      properties: {
        list: { type: 'array', items: { type: 'integer' } },
        next: { anyOf: [pair('a', 'b'), { type: 'null' }] },
      },
      required: ['list'],
      additionalProperties: false,
    },
  },
}

describe('items of which what they were is told', () => {
  const items = [
    1,
    12,
    10,
    8,
    9,
    -1,
    0.5,
    'a',
    'ab',
    '"',
    null,
    true,
    [],
    [1],
    [1, 12],
    ['a', 1],
    {},
    { a: true },
    { a: false },
  ]
  const more = [{ b: 1 }, { a: true, b: 1 }, { a: true, b: 'x' }, { b: true }, { list: [1] }, { list: [1], next: null }]

  it.each(Object.entries(KEYWORDS))('are as ajv has them: %s', (_, keywords) => {
    const schema = { type: 'array', uniqueItems: true, ...keywords }
    const grammar = compile(schema)
    const validate = ajv.compile(schema)
    const alone = [...items, ...more].filter((item) => validate([item]))
    expect(alone.length).toBeGreaterThan(1)
    for (const array of arrays(alone.slice(0, 7), 4)) {
      expect(grammar.accepts(JSON.stringify(array)), JSON.stringify(array)).toBe(validate(array))
      expect(judge(schema, array)).toBe(validate(array))
    }
    for (const item of [...items, ...more]) {
      expect(grammar.accepts(JSON.stringify([item])), JSON.stringify(item)).toBe(validate([item]))
    }
  })

  it.each(Object.entries(KEYWORDS))('end within their budget, and none comes twice: %s', (_, keywords) => {
    const random = randomness(3)
    const list = { type: 'array', uniqueItems: true, ...keywords }
    for (const schema of [list, { type: 'object', properties: { a: list, b: list }, required: ['a'] }]) {
      const validate = ajv.compile(schema)
      for (const layout of ['compact', 'spaced', { indent: 2 }] as const) {
        const grammar = compile(schema, { layout })
        for (let walk = 0; walk < 12; walk++) {
          const constraint = grammar.start(small)
          const text = randomDocument(constraint, small, constraint.shortest + Math.floor(random() * 60), random)
          expect([text, validate(JSON.parse(text))]).toEqual([text, true])
          expect([text, grammar.accepts(text)]).toEqual([text, true])
        }
      }
    }
  })

  it.each(Object.entries(KEYWORDS))('have masks that equal every token tried by itself: %s', (_, keywords) => {
    const random = randomness(4)
    const grammar = compile({ type: 'array', uniqueItems: true, ...keywords })
    const mask = new Uint32Array(small.words)
    for (let walk = 0; walk < 4; walk++) {
      const constraint = grammar.start(small)
      for (let left = constraint.shortest + 24; left > 0 && !constraint.done; left--) {
        if (walk % 2 === 0) expect(constraint.closing(left)).toBe(true)
        constraint.mask(mask)
        const tokens = tried(constraint, small)
        expect(allowed(mask, small.size)).toEqual(tokens)
        expect(tokens.length).toBeGreaterThan(0)
        // What follows an item rather than a long text.
        const short = tokens.filter((token) => /^[\]},:"1a[{t]+$/.test(String.fromCharCode(...small.bytes(token))))
        const some = short.length > 0 ? short : tokens
        constraint.accept(some[Math.floor(random() * some.length)]!)
      }
    }
  })

  it('may be numbers of up to 15 letters, which are different as doubles too', () => {
    const grammar = compile({ type: 'array', uniqueItems: true, items: { type: 'integer' } })
    expect(grammar.accepts('[999999999999999,999999999999998]')).toBe(true)
    expect(grammar.accepts('[9007199254740993,9007199254740992]')).toBe(false)
  })

  it('are told in other texts too', () => {
    const list = compile({ type: 'array', uniqueItems: true, items: { type: 'integer' } })
    const grammar = sequence(['["', list, ' and ', list])
    expect(grammar.accepts('["[1,2] and [1,3]')).toBe(true)
    expect(grammar.accepts('["[1,2] and [1,1]')).toBe(false)
  })
})
