import { Ajv2020 as Ajv } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { closed } from '../../../test/support/closed.js'
import { runs } from '../../../test/support/full.js'
import { compile, example, SchemaError } from '../../grammar/structured.js'
import type { JsonObject } from '../../platform/index.js'
import { type Narrowing, narrowedSchema } from './questions.js'

const ajv = new Ajv({ strict: false, allErrors: false })
formats.default(ajv)

const text = { type: 'string' }

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
      { numRuns: runs(400, 4) },
    )
    expect(checked).toBeGreaterThan(50)
  })

  it('has the values that are left, and what it says of the others', () => {
    const schema = {
      ...closed({ name: text, age: { type: ['integer', 'null'] }, note: text, city: text, kept: text }, [
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

  it('is about the values at one path', () => {
    const inner = closed({ name: text })
    const schema = closed({ name: text, one: inner, two: { anyOf: [inner, { type: 'null' }] } })
    const narrow = (path: readonly string[]) => (path.join('.') === 'two.name' ? { values: ['Ann'] } : undefined)
    const grammar = compile(narrowedSchema(schema, narrow))
    const accepts = (two: unknown) => grammar.accepts(JSON.stringify({ name: 'one', one: { name: 'two' }, two }))
    expect(accepts({ name: 'Ann' })).toBe(true)
    expect(accepts({ name: 'Bo' })).toBe(false)
    expect(accepts(null)).toBe(true)
  })

  it('has each name once, and of options those that were there', () => {
    const schema = closed({ a: { enum: ['x', 'y'] }, b: text }, ['a'])
    expect(narrowedSchema(schema, () => ({ values: ['x', 'z'] }))).toEqual({
      ...closed({ a: { enum: ['x'] }, b: { ...text, enum: ['x', 'z'] } }, ['a', 'b']),
    })
  })

  it('keeps what stands around a document', () => {
    const around = { $schema: 'http://json-schema.org/draft-07/schema#', $id: 'https://example.com/it' }
    const definitions = { it: closed({ a: text }) }
    expect(narrowedSchema({ ...around, $ref: '#/definitions/it', definitions }, () => undefined)).toEqual({
      ...around,
      ...closed({ a: text }),
      definitions,
    })
  })

  it('is the schema itself where nothing is settled', () => {
    const schema = closed({ name: text, inner: closed({ a: text }, []) }, [])
    expect(narrowedSchema(schema, () => undefined)).toEqual(schema)
  })

  it('keeps what stays the same from what is narrowed elsewhere', () => {
    const node = closed({ value: text, next: { type: 'array', items: { $ref: '#/$defs/node' } } })
    const root = { $ref: '#/$defs/node', $defs: { node } }
    const grammar = compile(narrowedSchema(root, ([name]) => (name === 'value' ? { values: ['one'] } : undefined)))
    expect(grammar.accepts('{"value":"one","next":[{"value":"two","next":[]}]}')).toBe(true)
    const circular = closed({ value: text, next: { type: 'array', items: { $ref: '#' } } })
    expect(narrowedSchema(circular, () => ({ values: ['one'] }))).toBeUndefined()
  })
})
