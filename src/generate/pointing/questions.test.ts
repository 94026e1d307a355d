import { Ajv2020 as Ajv } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { runs } from '../../../test/support/full.js'
import { compile, example, SchemaError } from '../../grammar/structured.js'
import type { JsonObject } from '../../platform/index.js'
import { type Narrowing, narrowedSchema, pointedQuestions } from './questions.js'

const ajv = new Ajv({ strict: false, allErrors: false })
formats.default(ajv)

/** Each question in one line: where, what, which options, what if there is none. */
const asked = (schema: unknown) =>
  pointedQuestions(schema).map(({ path, kind, options, absence }) =>
    [
      path.join('.'),
      kind,
      ...(options.length > 0 ? [JSON.stringify(options)] : []),
      ...(absence ? [absence] : []),
    ].join(' '),
  )
const record = (properties: JsonObject, required: readonly string[] = Object.keys(properties)): JsonObject => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})
const text = { type: 'string' }

describe('what a schema asks of a text', () => {
  it('as Zod writes it', () => {
    const schema = z.object({
      name: z.string().describe('who wrote'),
      age: z.int().min(0).nullable(),
      price: z.number().optional(),
      day: z.iso.date(),
      paid: z.boolean(),
      kind: z.enum(['new', 'old']).nullable(),
      address: z.object({ city: z.string() }),
      tags: z.array(z.string()),
    })
    expect(asked(z.toJSONSchema(schema))).toEqual([
      'name text',
      'age integer null',
      'price number missing',
      'day date',
      'paid option [true,false]',
      'kind option ["new","old"] null',
      'address.city text',
    ])
    expect(pointedQuestions(z.toJSONSchema(schema))[0]!.text).toBe('who wrote "name":"')
  })

  it('as Pydantic writes it', () => {
    const schema = {
      $defs: {
        Address: { ...record({ street: { title: 'Street', type: 'string' }, city: text }, ['city']), title: 'Address' },
        Size: { enum: ['S', 'M'], title: 'Size', type: 'string' },
      },
      ...record(
        {
          size: { $ref: '#/$defs/Size', description: 'of the shirt', default: 'M' },
          other: { anyOf: [{ $ref: '#/$defs/Size' }, { type: 'null' }], default: null },
          count: { anyOf: [{ type: 'integer' }, { type: 'null' }], default: null, title: 'Count' },
          home: { $ref: '#/$defs/Address' },
          work: { anyOf: [{ $ref: '#/$defs/Address' }, { type: 'null' }], default: null },
          either: { anyOf: [{ type: 'integer' }, { type: 'string' }] },
        },
        ['size', 'home', 'work', 'either'],
      ),
    }
    expect(asked(schema)).toEqual([
      'size option ["S","M"]',
      'other option ["S","M"] null',
      'count integer null',
      'home.street text missing',
      'home.city text',
      'work.street text missing',
      'work.city text record',
    ])
    expect(pointedQuestions(schema)[0]!.text).toBe('of the shirt "size":"')
    expect(pointedQuestions(schema)[3]!.text).toBe('"home":{"street":"')
  })

  it('as OpenAPI writes it', () => {
    const schema = {
      definitions: { 'a/b': { type: ['number', 'null'] } },
      ...record({
        kind: { type: ['string', 'null'], enum: ['a', null] },
        total: { $ref: '#/definitions/a~1b' },
        done: { type: 'boolean', nullable: true },
        always: { const: 'x' },
      }),
    }
    expect(asked(schema)).toEqual([
      'kind option ["a"] null',
      'total number null',
      'done option [true,false]',
      'always option ["x"]',
    ])
  })

  it('null only where every keyword allows it', () => {
    expect(asked(record({ a: { type: ['string', 'null'], enum: ['x'] } }))).toEqual(['a option ["x"]'])
    expect(asked(record({ a: { type: 'string', enum: ['x', null] } }))).toEqual(['a option ["x"]'])
    expect(asked(record({ a: { enum: ['x', null] } }))).toEqual(['a option ["x"] null'])
  })

  it.each([
    ['lists', { type: 'array', items: text }],
    ['forks', { oneOf: [text, { type: 'integer' }] }],
    ['conditions', { type: 'string', not: { const: 'x' } }],
    ['several types', { type: ['string', 'integer'] }],
    ['what is only null', { type: 'null' }],
    ['options that are no values', { enum: [['x']] }],
    ['what stands beside a reference', { $ref: '#/$defs/text', maxLength: 3 }],
    ['what stands beside a union', { anyOf: [text, { type: 'null' }], maxLength: 3 }],
    ['references to nothing', { $ref: '#/$defs/none' }],
    ['references to elsewhere', { $ref: 'https://example.com/text' }],
    ['references in a circle', { $ref: '#/$defs/circle' }],
    ['what is written otherwise in texts', { type: 'string', format: 'date-time' }],
    ['what its note says to be a time', { type: 'string', description: 'as HH:MM' }],
    ['schemas that are none', 7],
    ['anything', true],
  ])('nothing of %s', (_, schema) => {
    const root = { ...record({ left: schema, name: text }), $defs: { text, circle: { $ref: '#/$defs/circle' } } }
    expect(asked(root)).toEqual(['name text'])
  })

  it('nothing of what is no document', () => {
    for (const schema of [text, true, undefined, null, [], { $ref: '#' }]) expect(asked(schema)).toEqual([])
  })

  it('of a schema within itself only so deep', () => {
    const node = record({ value: text, next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] } })
    const questions = pointedQuestions({ $ref: '#/$defs/node', $defs: { node } })
    expect(questions[0]!.path).toEqual(['value'])
    expect(questions.length).toBeGreaterThan(2)
    expect(questions.length).toBeLessThan(20)
  })

  it('nothing of one that is there again and again', () => {
    const names = Array.from({ length: 12 }, (_, i) => `n${i}`)
    const node = record(Object.fromEntries(names.map((name) => [name, { $ref: '#/$defs/node' }])), [])
    expect(asked({ ...record({ name: text, node: { $ref: '#/$defs/node' } }), $defs: { node } })).toEqual([])
  })

  it('names that are no identifiers', () => {
    const schema = record({ 'a "b"': record({ __proto: text, 'c/~d': { type: 'integer', description: 'how many' } }) })
    expect(pointedQuestions(schema).map((question) => question.text)).toEqual([
      '"a \\"b\\"":{"__proto":"',
      'how many "a \\"b\\"":{"c/~d":',
    ])
  })
})

/** Values that may stand in a record, each with some that its schema allows. */
const LEAVES: readonly (readonly [schema: unknown, values: Narrowing['values']])[] = [
  [text, ['Ann', '', 'a "b" \\ é']],
  [{ type: 'string', pattern: '^[A-Z]{2}$' }, ['AB', 'ab']],
  [{ type: 'string', minLength: 3, maxLength: 5 }, ['abc', 'a', 'abcdef']],
  [{ type: 'string', format: 'date' }, ['2026-03-04', 'tomorrow']],
  [{ type: ['integer', 'null'], minimum: 0, maximum: 99 }, [4, -1, 1.5]],
  [{ anyOf: [{ type: 'number' }, { type: 'null' }], default: null }, [1.25, -3]],
  [{ enum: ['a', 'b', null, 3, true] }, ['a', 3, true, 'c']],
  [{ type: ['string', 'null'], enum: ['a', 'b'] }, ['b']],
  [{ type: 'string', enum: ['a', null, 1] }, ['a', 1]],
  [{ const: 'x' }, ['x', 'y']],
  [{ type: 'boolean' }, [true, false]],
  [{ $ref: '#/$defs/size' }, ['S', 'L']],
  [{ anyOf: [{ $ref: '#/$defs/size' }, { type: 'null' }] }, ['M']],
  [{ $ref: '#/$defs/size', maxLength: 0 }, ['S']],
  [{ anyOf: [text, { type: 'null', enum: [1] }] }, ['S']],
  [{ type: 'array', items: { $ref: '#/$defs/size' } }, ['S']],
  [{ oneOf: [text, { type: 'integer' }] }, ['S', 2]],
]

interface Field {
  readonly schema: unknown
  readonly values: Narrowing['values'] | undefined
  readonly isRequired: boolean
}

const leaf: fc.Arbitrary<Field> = fc.constantFrom(...LEAVES).chain(([schema, values]) =>
  fc.record({
    schema: fc.constant(schema),
    values: fc.option(fc.subarray([...values]), { nil: undefined }),
    isRequired: fc.boolean(),
  }),
)
const fields = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'a/b~"'), leaf, { minKeys: 1 })
const documents = fc.record({
  fields,
  inner: fields,
  innerIs: fc.constantFrom('there', 'missing', 'null', 'reference'),
  isOpen: fc.boolean(),
})

const recordOf = (of: Record<string, Field>, isOpen: boolean): JsonObject => ({
  type: 'object',
  properties: Object.fromEntries(Object.entries(of).map(([name, { schema }]) => [name, schema])),
  required: Object.keys(of).filter((name) => of[name]!.isRequired),
  ...(!isOpen && { additionalProperties: false }),
})

describe('a narrowed schema', () => {
  it('allows nothing that the schema does not', () => {
    let checked = 0
    fc.assert(
      fc.property(documents, fc.nat(), ({ fields, inner, innerIs, isOpen }, seed) => {
        const within = recordOf(inner, isOpen)
        const outer = recordOf(fields, isOpen)
        const at = {
          there: within,
          missing: within,
          null: { anyOf: [within, { type: 'null' }], description: 'within' },
          reference: { $ref: '#/$defs/within' },
        }[innerIs]
        const schema: JsonObject = {
          ...outer,
          properties: { ...(outer.properties as JsonObject), within: at },
          required: [...(outer.required as string[]), ...(innerIs === 'missing' ? [] : ['within'])],
          $defs: { size: { type: 'string', enum: ['S', 'M'] }, within },
        }
        const settled = ([name, below]: readonly string[]) => {
          const values = name === 'within' && below !== undefined ? inner[below]?.values : fields[name!]?.values
          return values && { values }
        }
        const narrowed = narrowedSchema(schema, settled)!
        let grammar: ReturnType<typeof compile>
        try {
          grammar = compile(narrowed)
        } catch (error) {
          // Nothing is left of it.
          expect(error).toBeInstanceOf(SchemaError)
          return
        }
        const original = compile(schema)
        const validate = ajv.compile(schema)
        for (let i = 0; i < 3; i++) {
          const document = example(grammar, { seed: seed + i })
          expect(original.accepts(document), document).toBe(true)
          expect(validate(JSON.parse(document)), document).toBe(true)
          checked++
        }
      }),
      { numRuns: runs(400) },
    )
    expect(checked).toBeGreaterThan(50)
  })

  it('has the values that are left, and what it says of the others', () => {
    const schema = {
      ...record({ name: text, age: { type: ['integer', 'null'] }, note: text, city: text, kept: text }, [
        'kept',
        'age',
      ]),
      description: 'a person',
    }
    const left: Record<string, Narrowing['values']> = { name: ['Ann', 'Bo'], age: [], note: [], city: ['Rome'] }
    const grammar = compile(narrowedSchema(schema, ([name]) => (left[name!] ? { values: left[name!]! } : undefined)))
    const accepts = (document: JsonObject) => grammar.accepts(JSON.stringify(document))
    expect(accepts({ name: 'Ann', age: null, city: 'Rome', kept: 'all' })).toBe(true)
    expect(accepts({ name: 'Bo', age: null, city: 'Rome', kept: '' })).toBe(true)
    expect(accepts({ name: 'Cy', age: null, city: 'Rome', kept: '' })).toBe(false)
    expect(accepts({ name: 'Ann', age: 3, city: 'Rome', kept: '' })).toBe(false)
    expect(accepts({ name: 'Ann', age: null, note: '', city: 'Rome', kept: '' })).toBe(false)
    expect(accepts({ age: null, kept: '' })).toBe(false)
  })

  it('is the schema itself where nothing is settled', () => {
    const schema = record({ name: text, inner: record({ a: text }, []) }, [])
    expect(narrowedSchema(schema, () => undefined)).toEqual(schema)
  })

  it('keeps what stays the same from what is narrowed elsewhere', () => {
    const node = record({ value: text, next: { type: 'array', items: { $ref: '#/$defs/node' } } })
    const root = { $ref: '#/$defs/node', $defs: { node } }
    const grammar = compile(narrowedSchema(root, ([name]) => (name === 'value' ? { values: ['one'] } : undefined)))
    expect(grammar.accepts('{"value":"one","next":[{"value":"two","next":[]}]}')).toBe(true)
    const circular = record({ value: text, next: { type: 'array', items: { $ref: '#' } } })
    expect(narrowedSchema(circular, () => ({ values: ['one'] }))).toBeUndefined()
  })
})
