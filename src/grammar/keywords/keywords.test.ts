import { Ajv2020 as Ajv } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { describe, expect, it } from 'vitest'
import { judge } from '../judge.js'
import { compile, type Grammar, SchemaError } from '../structured.js'
import { KEYWORDS, WORDS } from './table.js'

/** Schemas for every word of the table, but those that this compiler does not enforce or that stand only beside others. */
const SCHEMAS: Readonly<Record<string, readonly Record<string, unknown>[]>> = {
  type: [{ type: 'integer' }, { type: ['null', 'string'] }, { type: 'boolean' }, { type: ['array', 'number'] }],
  nullable: [
    { type: 'integer', nullable: true },
    { type: 'string', nullable: false },
    { type: 'string', nullable: true, enum: ['a', null] },
    { type: 'string', nullable: true, enum: ['a'] },
    { properties: { a: { type: ['string', 'number'], nullable: true, minLength: 2 } } },
  ],
  enum: [{ enum: [1, 'a', null, [], {}] }, { enum: [[1], { a: 1 }, true] }],
  const: [{ const: 'ab' }, { const: 0 }, { const: [] }, { const: { a: 1 } }],
  minimum: [{ minimum: 1 }, { minimum: -1.5 }],
  maximum: [{ maximum: 1 }],
  exclusiveMinimum: [{ exclusiveMinimum: 0 }],
  exclusiveMaximum: [{ exclusiveMaximum: 2.5, minimum: 1 }],
  multipleOf: [{ multipleOf: 0.5 }, { multipleOf: 3 }, { multipleOf: 0.01 }],
  minLength: [{ minLength: 2 }],
  maxLength: [{ maxLength: 1 }],
  pattern: [{ pattern: 'a' }, { pattern: '^[a-c]{2}$' }],
  format: [{ format: 'date' }, { format: 'ipv4' }],
  items: [{ items: { type: 'integer' } }, { items: false }, { items: { minLength: 2 } }],
  prefixItems: [
    { prefixItems: [{ type: 'integer' }, { type: 'string' }] },
    { prefixItems: [true], items: false },
    { prefixItems: [{ type: 'integer' }], items: { type: 'string' } },
  ],
  additionalItems: [],
  unevaluatedItems: [
    { prefixItems: [{ type: 'integer' }], unevaluatedItems: false },
    { contains: { type: 'integer' }, unevaluatedItems: { type: 'string' } },
    { anyOf: [{ prefixItems: [{ type: 'integer' }] }, { items: { type: 'string' } }], unevaluatedItems: false },
  ],
  contains: [
    { contains: { type: 'integer' } },
    { contains: { const: 'a' } },
    { contains: { type: 'integer' }, allOf: [{ contains: { type: 'string' } }] },
  ],
  minContains: [{ contains: { type: 'integer' }, minContains: 2 }],
  maxContains: [
    { contains: { type: 'integer' }, minContains: 0, maxContains: 1 },
    { contains: { type: 'integer' }, maxContains: 1, allOf: [{ contains: { enum: ['a', null] }, maxContains: 1 }] },
  ],
  minItems: [{ minItems: 1 }],
  maxItems: [{ maxItems: 1 }],
  uniqueItems: [{ items: { enum: [1, 'a', null] }, uniqueItems: true }],
  properties: [
    { properties: { a: { type: 'integer' }, hasOwnProperty: { type: 'null' } } },
    { properties: { b: false } },
  ],
  patternProperties: [{ patternProperties: { '^[ab]$': { type: 'integer' } } }],
  additionalProperties: [{ properties: { a: true }, additionalProperties: { type: 'string' } }],
  unevaluatedProperties: [
    { allOf: [{ properties: { a: true } }], unevaluatedProperties: false },
    {
      anyOf: [{ properties: { a: { type: 'integer' } } }, { required: ['b'], properties: { b: true } }],
      unevaluatedProperties: false,
    },
    {
      oneOf: [
        { required: ['a'], properties: { a: true } },
        { required: ['b'], properties: { b: true } },
      ],
      unevaluatedProperties: { type: 'null' },
    },
    {
      if: { required: ['a'], properties: { a: true } },
      // biome-ignore lint/suspicious/noThenProperty: JSON Schema's word
      then: { properties: { b: true } },
      unevaluatedProperties: false,
    },
    { dependentSchemas: { a: { properties: { a: true, b: true } } }, unevaluatedProperties: false },
  ],
  required: [{ required: ['a'] }, { required: ['b', 'hasOwnProperty'] }],
  propertyNames: [{ propertyNames: { maxLength: 1 } }],
  minProperties: [{ minProperties: 1 }, { minProperties: 2 }],
  maxProperties: [{ maxProperties: 1 }],
  dependencies: [{ dependencies: { a: ['b'] } }, { dependencies: { b: { required: ['a'] } } }],
  dependentRequired: [{ dependentRequired: { a: ['b'], b: ['a'] } }],
  dependentSchemas: [{ dependentSchemas: { a: { properties: { b: { type: 'string' } } } } }],
  not: [{ not: { type: 'string' } }, { not: { minLength: 1, type: 'string' } }],
  allOf: [{ allOf: [{ minLength: 1 }, { maxItems: 0 }, { maximum: 1 }] }],
  anyOf: [{ anyOf: [{ type: 'string', minLength: 2 }, { type: 'integer' }, { required: ['a'], type: 'object' }] }],
  oneOf: [
    { oneOf: [{ type: 'integer' }, { type: 'number', minimum: 1 }] },
    { oneOf: [{ type: 'null' }, true] },
    { oneOf: [{ type: ['null', 'string'] }, { maxLength: 1 }, { type: 'integer' }] },
  ],
  if: [{ if: { type: 'string' } }],
  // biome-ignore lint/suspicious/noThenProperty: JSON Schema's word
  then: [{ if: { type: 'string' }, then: { minLength: 2 } }],
  else: [{ if: { type: 'string' }, else: { type: 'object', required: ['a'] } }],
  $ref: [{ $id: 'urn:keyword:ref', $ref: '#/$defs/a', maxLength: 1, $defs: { a: { type: ['string', 'null'] } } }],
  $dynamicRef: [
    {
      $id: 'urn:keyword:dynamic',
      $dynamicAnchor: 'node',
      type: ['object', 'integer'],
      properties: { a: { $dynamicRef: '#node' } },
    },
  ],
  $recursiveRef: [],
  // It needs texts: src/grammar/quote.test.ts.
  'x-quote': [],
}

const VALUES: readonly unknown[] = [
  ...[null, true, false, 0, 1, -1, 3, 9, 0.5, 1.13, 2.5, -1.5, 123456, '', 'a', 'ab', 'abc', 'é', '2024-02-30'],
  ...['2024-02-29', '127.0.0.1', [], [1], ['a'], [1, 'a'], ['a', 1], [1, 1], [null, 'a', 1], [['a']], [{}]],
  ...[{}, { a: 1 }, { a: 'x' }, { b: 1 }, { b: 'x' }, { a: 1, b: 1 }, { a: 'x', b: 'x' }, { ab: 1 }, { ab: 'x', a: 1 }],
  ...[{ hasOwnProperty: null }, { hasOwnProperty: 1 }, { b: 1, hasOwnProperty: null }],
]

const DRAFT_2019 = 'https://json-schema.org/draft/2019-09/schema'
const DRAFT_2020 = 'https://json-schema.org/draft/2020-12/schema'

const ajv = new Ajv({ strict: false, ownProperties: true })
formats.default(ajv)

/** The texts of a value, its keys in any order. */
function textsOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [JSON.stringify(value)]
  const members = Object.entries(value)
  return [members, [...members].reverse()].map((each) => JSON.stringify(Object.fromEntries(each)))
}

function admits(grammar: Grammar, value: unknown): boolean {
  return textsOf(value).some((text) => grammar.accepts(text))
}

function denied(schema: unknown): Grammar | SchemaError {
  try {
    return compile({ not: schema })
  } catch (error) {
    if (error instanceof SchemaError) return error
    throw error
  }
}

describe('a dynamic reference', () => {
  const tree = (anchor: object, reference: object, $schema: string) => ({
    $schema,
    $id: 'https://example.com/tree',
    ...anchor,
    type: 'array',
    items: reference,
  })
  const extended = {
    $id: 'https://example.com/short',
    $dynamicAnchor: 'node',
    $ref: 'https://example.com/tree',
    maxItems: 1,
    $defs: { tree: tree({ $dynamicAnchor: 'node' }, { $dynamicRef: '#node' }, DRAFT_2020) },
  }

  it.each([
    tree({ $dynamicAnchor: 'node' }, { $dynamicRef: '#node' }, DRAFT_2020),
    tree({ $recursiveAnchor: true }, { $recursiveRef: '#' }, DRAFT_2019),
    tree({}, { $recursiveRef: '#' }, DRAFT_2019),
  ])('to the only place of its name is a reference: %j', (schema) => {
    const grammar = compile(schema)
    for (const [value, right] of [
      [[[], [[]]], true],
      [[[1]], false],
      [[], true],
      ['', false],
    ] as const) {
      expect([value, grammar.accepts(JSON.stringify(value))]).toEqual([value, right])
      expect([value, judge(schema, value)]).toEqual([value, right])
    }
  })

  it('leads to the outermost place of its name where the document itself has one', () => {
    const grammar = compile(extended)
    const validate = ajv.compile(extended)
    for (const value of [[], [[]], [[[]]], [[], []], [[[], []]], 1]) {
      expect([value, grammar.accepts(JSON.stringify(value))]).toEqual([value, validate(value)])
      expect([value, judge(extended, value)]).toEqual([value, validate(value)])
    }
  })

  it('leads to the outermost place of its name on the way there, where the document itself has none', () => {
    const listOf = (type: string) => ({
      $id: `list-of-${type}`,
      $ref: 'list',
      $defs: { item: { $dynamicAnchor: 'item', type } },
    })
    const schema = {
      $id: 'https://example.com/lists',
      type: 'object',
      properties: {
        a: { $ref: 'list-of-integer' },
        b: { anyOf: [{ $ref: 'list-of-string' }, { $ref: 'list' }] },
        c: { allOf: [{ $ref: 'list-of-string' }, { not: { $ref: 'list-of-null' } }] },
      },
      additionalProperties: false,
      $defs: {
        integers: listOf('integer'),
        strings: listOf('string'),
        nulls: listOf('null'),
        list: {
          $id: 'list',
          type: 'array',
          items: { anyOf: [{ $dynamicRef: '#item' }, { $ref: '#' }] },
          $defs: { item: { $dynamicAnchor: 'item', type: 'boolean' } },
        },
      },
    }
    const grammar = compile(schema)
    // ajv does not follow these references through resources: it judges what they come to.
    const spelled = (type: string) => ({ type: 'array', items: { anyOf: [{ type }, { $ref: `#/$defs/${type}` }] } })
    const of = (type: string) => ({ $ref: `#/$defs/${type}` })
    const validate = ajv.compile({
      type: 'object',
      properties: {
        a: of('integer'),
        b: { anyOf: [of('string'), of('boolean')] },
        c: { allOf: [of('string'), { not: of('null') }] },
      },
      $defs: Object.fromEntries(['integer', 'string', 'boolean', 'null'].map((type) => [type, spelled(type)])),
    })
    const lists = [[], [1], ['x'], [true], [null], [[1]], [['x'], 'y'], ['x', 1], [[true], true], [['x', [null]]]]
    const both = new Set<boolean>()
    for (const key of ['a', 'b', 'c']) {
      for (const list of lists) {
        const value = { [key]: list }
        const right = validate(value)
        both.add(right)
        expect([value, grammar.accepts(JSON.stringify(value))]).toEqual([value, right])
        expect([value, judge(schema, value)]).toEqual([value, right])
      }
    }
    expect(both.size).toBe(2)
  })
})

/** What a denial needs that stands beside what the object itself says. */
describe('a denial within', () => {
  const closed = { type: 'object', properties: { a: { type: 'integer' }, b: true }, additionalProperties: false }
  it.each([
    [closed, { properties: { a: true }, additionalProperties: false }],
    [closed, { properties: { a: true }, additionalProperties: { type: 'string' } }],
    [closed, { patternProperties: { '^b': { type: 'string' } } }],
    [closed, { propertyNames: { const: 'a' } }],
    [closed, { allOf: [{ properties: { a: true } }], unevaluatedProperties: false }],
    [{ required: ['a'] }, { properties: { a: { minimum: 2 } }, additionalProperties: true }],
    [{ enum: [{ a: 1 }, { a: 1, b: 1 }, {}, 1] }, { const: { a: 1 } }],
    [closed, { enum: [{ a: 1, b: 1 }, { a: 1 }, 3] }],
    [{ type: 'array', items: { type: ['integer', 'string'] } }, { enum: [[1, 'a'], [1]] }],
  ])('%j excludes exactly what satisfies %j', (outer, inner) => {
    const schema = { allOf: [outer], not: inner }
    const grammar = compile(schema)
    const validate = ajv.compile(schema)
    for (const value of VALUES) {
      expect([value, admits(grammar, value)]).toEqual([value, validate(value)])
      expect([value, judge(schema, value)]).toEqual([value, validate(value)])
    }
  })
})

/**
 * ajv divides doubles, takes a property named as one of a prototype for evaluated, and takes all items for evaluated
 * where `contains` finds one: the official suite, which check:schemas runs, says otherwise.
 */
function ajvErrs(schema: Record<string, unknown>, value: unknown): boolean {
  const named = schema.unevaluatedProperties !== undefined && Object.hasOwn(Object(value), 'hasOwnProperty')
  return schema.multipleOf === 0.01 || named || (schema.contains !== undefined && schema.unevaluatedItems !== undefined)
}

describe('every keyword', () => {
  it('stands in the table once, with schemas for each of its words', () => {
    expect(Object.keys(SCHEMAS).sort()).toEqual([...WORDS.keys()].sort())
    expect(WORDS.size).toBe(KEYWORDS.reduce((sum, one) => sum + 1 + Object.keys(one.with ?? {}).length, 0))
  })

  const rows = Object.entries(SCHEMAS).flatMap(([word, schemas]) => schemas.map((schema) => [word, schema] as const))

  it.each(rows)('%s holds where its grammar admits, and its denial does not: %j', (_, schema) => {
    const asserted = compile(schema)
    const opposite = denied(schema)
    const validate = ajv.compile(schema)
    // What a denial cannot describe is refused, never guessed.
    if (opposite instanceof SchemaError) expect(opposite.message).toMatch(/not supported inside a negation|no value/)
    for (const value of VALUES) {
      const holds = judge(schema, value)
      expect([value, admits(asserted, value)]).toEqual([value, holds])
      if (!(opposite instanceof SchemaError)) expect([value, admits(opposite, value)]).toEqual([value, !holds])
      if (!ajvErrs(schema, value)) expect([value, validate(value)]).toEqual([value, holds])
    }
  })
})
