import { describe, expect, it } from 'vitest'
import { COSTLY } from '../../scripts/schemas/hostile.js'
import { compile, SchemaError } from './structured.js'

const many = (count: number) => Array.from({ length: count }, (_, i) => i)
const members = (count: number, of: (i: number) => [string, unknown]) => Object.fromEntries(many(count).map(of))

function nested(levels: number, wrap: (inner: unknown) => unknown): unknown {
  let schema: unknown = { type: 'string' }
  for (let i = 0; i < levels; i++) schema = wrap(schema)
  return schema
}

describe('large schemas that are honest compile', () => {
  it.each<[string, unknown]>([
    [
      '5,000 properties',
      { type: 'object', properties: members(5000, (i) => [`p${i}`, { type: 'string' }]), additionalProperties: false },
    ],
    [
      '5,000 required properties',
      { type: 'object', properties: members(5000, (i) => [`p${i}`, {}]), required: many(5000).map((i) => `p${i}`) },
    ],
    ['10,000 values', { enum: many(10_000).map((i) => `value ${i}`) }],
    ['1,000 levels', nested(1000, (inner) => ({ type: 'object', properties: { a: inner }, required: ['a'] }))],
    ['1,000 levels of combination', nested(1000, (inner) => ({ allOf: [inner] }))],
    ['counts beyond any document', { type: 'array', items: { type: 'string', maxLength: 1e9 }, maxItems: 1e9 }],
    [
      'a chain of 2,000 references',
      {
        $ref: '#/$defs/d0',
        $defs: members(2001, (i) => [`d${i}`, i < 2000 ? { $ref: `#/$defs/d${i + 1}` } : { type: 'null' }]),
      },
    ],
    [
      '100 alternatives told apart',
      { oneOf: many(100).map((i) => ({ type: 'object', properties: { kind: { const: i } }, required: ['kind'] })) },
    ],
    [
      '500 closed alternatives told apart by what they require',
      {
        oneOf: many(500).map((i) => ({
          type: 'object',
          properties: { n: { type: 'integer' }, kind: { const: `kind ${i}` }, value: { type: 'string' } },
          required: ['n', 'kind'],
          additionalProperties: false,
        })),
      },
    ],
    [
      '16 conditions on one property',
      {
        allOf: many(16).map((i) => ({
          if: { properties: { k: { const: i } }, required: ['k'] },
          else: { required: [`r${i}`] },
        })),
      },
    ],
    [
      'a product of choices that objects have',
      {
        allOf: many(30).map((i) => ({
          anyOf: [{ properties: { [`a${i}`]: { type: 'string' } } }, { properties: { [`b${i}`]: { type: 'null' } } }],
        })),
      },
    ],
    ...Object.entries(COSTLY).map(([name, make]): [string, unknown] => [name, make()]),
  ])('%s', (_, schema) => {
    expect(compile(schema).shortest).toBeGreaterThan(0)
  })
})

describe('hostile schemas end in a clear refusal', () => {
  it.each<[string, unknown]>([
    [
      'a product of choices',
      {
        allOf: many(30).map((i) => ({
          anyOf: [{ contains: { const: `a${i}` } }, { contains: { const: `b${i}` }, minItems: i }],
        })),
      },
    ],
    ['an exponential pattern', { type: 'string', pattern: '(a|b)*a(a|b){20}' }],
    [
      'patterns for keys that multiply',
      { type: 'object', patternProperties: members(60, (i) => [`^.{${i}}x`, { minLength: i }]) },
    ],
    ['a document that no budget holds', { type: 'array', items: { type: 'array', minItems: 1e9 }, minItems: 1e9 }],
    ['a million unnamed members', { type: 'object', minProperties: 1e6 }],
    ['references in a circle', { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } }],
    ['values nested beyond the stack', { const: JSON.parse(`${'['.repeat(20_000)}${']'.repeat(20_000)}`) as unknown }],
    [
      'a doubling document',
      {
        $ref: '#/$defs/d0',
        $defs: members(60, (i) => [
          `d${i}`,
          i < 59 ? { type: 'array', items: { $ref: `#/$defs/d${i + 1}` }, minItems: 2 } : { type: 'null' },
        ]),
      },
    ],
  ])('%s', (_, schema) => {
    expect(() => compile(schema)).toThrow(SchemaError)
  })
})
