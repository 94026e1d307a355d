import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { closed } from '../../../test/support/closed.js'
import { pointedQuestions } from './questions.js'

/** Each question in one line: where, what, which options, what if there is none. */
const linesOf = (schema: unknown) =>
  pointedQuestions(schema).map(({ path, kind, options, absence }) =>
    [
      path.join('.'),
      kind,
      ...(options.length > 0 ? [JSON.stringify(options)] : []),
      ...(absence ? [absence] : []),
    ].join(' '),
  )
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
    expect(linesOf(z.toJSONSchema(schema))).toEqual([
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
        Address: { ...closed({ street: { title: 'Street', type: 'string' }, city: text }, ['city']), title: 'Address' },
        Size: { enum: ['S', 'M'], title: 'Size', type: 'string' },
      },
      ...closed(
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
    expect(linesOf(schema)).toEqual([
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
      ...closed({
        kind: { type: ['string', 'null'], enum: ['a', null] },
        total: { $ref: '#/definitions/a~1b' },
        done: { type: 'boolean', nullable: true },
        always: { const: 'x' },
      }),
    }
    expect(linesOf(schema)).toEqual([
      'kind option ["a"] null',
      'total number null',
      'done option [true,false] null',
      'always option ["x"]',
    ])
  })

  it('null only where every keyword allows it', () => {
    expect(linesOf(closed({ a: { type: ['string', 'null'], enum: ['x'] } }))).toEqual(['a option ["x"]'])
    expect(linesOf(closed({ a: { type: 'string', enum: ['x', null] } }))).toEqual(['a option ["x"]'])
    expect(linesOf(closed({ a: { enum: ['x', null] } }))).toEqual(['a option ["x"] null'])
  })

  it('options that are values of any kind, as far as its type has them', () => {
    expect(linesOf(closed({ a: { enum: [1, true, 'x'] } }))).toEqual(['a option [1,true,"x"]'])
    expect(linesOf(closed({ a: { type: 'boolean', enum: [false] } }))).toEqual(['a option [false]'])
    expect(linesOf(closed({ a: { type: ['string', 'null'], const: 'x' } }))).toEqual(['a option ["x"]'])
    expect(linesOf(closed({ a: { enum: ['x', ['y']] } }))).toEqual([])
  })

  it('numbers, and whether something is so, without quotes', () => {
    const schema = closed({ paid: { type: 'boolean' }, total: { type: 'number' }, kind: { enum: ['a', true] } })
    expect(pointedQuestions(schema).map((question) => question.text)).toEqual(['"paid":', '"total":', '"kind":"'])
  })

  it('a union of one as what it is', () => {
    expect(linesOf(closed({ a: { anyOf: [text] } }))).toEqual(['a text'])
  })

  it('of a record that may be missing what may be missing with it, however deep', () => {
    const inner = closed({ name: text, note: text }, ['name'])
    expect(linesOf(closed({ one: closed({ two: inner }) }, []))).toEqual([
      'one.two.name text record',
      'one.two.note text missing',
    ])
  })

  it('references by names with signs', () => {
    const schema = { ...closed({ a: { $ref: '#/$defs/x~0y~1z' } }), $defs: { 'x~y/z': text } }
    expect(linesOf(schema)).toEqual(['a text'])
  })

  it('what a note calls a time, but not in hours and minutes', () => {
    expect(linesOf(closed({ a: { type: 'string', description: 'the time they meet' } }))).toEqual(['a text'])
  })

  it.each([
    '$comment',
    'title',
    'description',
    'default',
    'examples',
    'deprecated',
    'readOnly',
    'writeOnly',
    'nullable',
  ])('the same whatever is noted beside a reference: %s', (note) => {
    const schema = { ...closed({ a: { $ref: '#/definitions/text', [note]: '' } }), definitions: { text } }
    expect(linesOf(schema)).toEqual(['a text'])
  })

  it.each(['$schema', '$id', '$defs', 'definitions'])(
    'the same whatever is noted beside that of a document: %s',
    (note) => {
      expect(linesOf({ anyOf: [closed({ a: text })], [note]: {} })).toEqual(['a text'])
    },
  )

  it.each([
    ...['allOf', 'oneOf', 'not', 'if', 'patternProperties'],
    ...['dependentSchemas', 'dependentRequired', 'dependencies'],
  ])('nothing where a schema forks: %s', (keyword) => {
    expect(linesOf(closed({ a: { ...text, [keyword]: {} }, name: text }))).toEqual(['name text'])
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
    ['references into nothing', { $ref: '#/$defs/none/within' }],
    ['references to what every record has', { $ref: '#/$defs/constructor' }],
    ['references that do not begin at the root', { $ref: 'a/$defs/text' }],
    ['references in a circle', { $ref: '#/$defs/circle' }],
    ['what is written otherwise in texts', { type: 'string', format: 'date-time' }],
    ['what its note says to be a time', { type: 'string', description: 'as HH:MM' }],
    ['what its note says to be in hours', { type: 'string', description: 'in 24-h form' }],
    ['schemas that are none', 7],
    ['anything', true],
  ])('nothing of %s', (_, schema) => {
    const root = { ...closed({ left: schema, name: text }), $defs: { text, circle: { $ref: '#/$defs/circle' } } }
    expect(linesOf(root)).toEqual(['name text'])
  })

  it('nothing of what is no document', () => {
    for (const schema of [text, true, undefined, null, [], { $ref: '#' }]) expect(linesOf(schema)).toEqual([])
  })

  it('of a schema within itself only so deep', () => {
    const node = closed({ value: text, next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] } })
    const questions = pointedQuestions({ $ref: '#/$defs/node', $defs: { node } })
    expect(questions[0]!.path).toEqual(['value'])
    expect(questions.length).toBeGreaterThan(2)
    expect(questions.length).toBeLessThan(20)
  })

  it('nothing of one that is there again and again', () => {
    const names = Array.from({ length: 12 }, (_, i) => `n${i}`)
    const node = closed(Object.fromEntries(names.map((name) => [name, { $ref: '#/$defs/node' }])), [])
    expect(linesOf({ ...closed({ name: text, node: { $ref: '#/$defs/node' } }), $defs: { node } })).toEqual([])
  })

  it('names that are no identifiers', () => {
    const schema = closed({ 'a "b"': closed({ __proto: text, 'c/~d': { type: 'integer', description: 'how many' } }) })
    expect(pointedQuestions(schema).map((question) => question.text)).toEqual([
      '"a \\"b\\"":{"__proto":"',
      'how many "a \\"b\\"":{"c/~d":',
    ])
  })
})
