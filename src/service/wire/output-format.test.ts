import { describe, expect, it } from 'vitest'
import { compile } from '../../grammar/structured.js'
import { heldToWords } from './output-format.js'
import { minimal, read, refusedFor, schema } from './request.test-helper.js'

describe('response_format', () => {
  const format = (json_schema: object) => ({
    type: 'json_schema',
    json_schema: { name: 'city', schema, ...json_schema },
  })
  const outputOf = (response_format: unknown) => read({ response_format }).output

  it('is text, an object, or a schema', () => {
    expect(outputOf({ type: 'text' })).toEqual({ type: 'text' })
    expect(outputOf({ type: 'json_object' })).toEqual({ type: 'json_object' })
    expect(outputOf(format({ strict: true }))).toEqual({ type: 'json_schema', name: 'city', strict: true, schema })
    expect(outputOf(format({ strict: null }))).toMatchObject({ strict: false })
    expect(outputOf({ type: 'json_object', schema })).toMatchObject({ type: 'json_schema', strict: false, schema })
    const flat = { type: 'json_schema', schema }
    expect(outputOf(flat)).toMatchObject({ type: 'json_schema', strict: true, schema })
    // What an error advises where something cannot be enforced.
    expect(read({ response_format: { ...flat, strict: false } })).toMatchObject({
      ...{ output: { strict: false, schema }, ignored: [] },
    })
    expect(read({ response_format: { ...format({}), strict: true } }).ignored).toEqual(['response_format.strict'])
  })

  it.each<[string, unknown]>([
    ['response_format', 'json'],
    ['response_format.type', {}],
    ['response_format.type', { type: 'xml' }],
    ['response_format.json_schema', { type: 'json_schema' }],
    ['response_format.json_schema.name', format({ name: undefined })],
    ['response_format.json_schema.name', format({ name: 'two words' })],
    ['response_format.json_schema.name', format({ name: 'x'.repeat(65) })],
    ['response_format.json_schema.schema', format({ schema: undefined })],
    ['response_format.json_schema.schema', format({ schema: 'x' })],
    ['response_format.json_schema.strict', format({ strict: 'yes' })],
    ['response_format.strict', { type: 'json_schema', schema, strict: 'yes' }],
    ['response_format.json_schema.description', format({ description: 5 })],
  ])('is refused for %s', (param, response_format) => {
    expect(refusedFor({ ...minimal, response_format })).toBe(param)
  })
})

/** As `@ai-sdk/provider-utils` writes the fields of an extraction. */
const DATE = { type: 'string', description: 'A calendar date formatted as YYYY-MM-DD.' }
const TIME = { type: 'string', description: 'A time of day formatted as HH:MM or HH:MM:SS.' }
const MOMENT = {
  type: 'string',
  description:
    'An ISO 8601 date and time such as 2027-03-03T17:30:00, with a Z or +HH:MM offset only when the state gives one.',
}
const LENGTH = { type: 'number', description: 'A nonnegative number of the given unit, seconds by default.' }
const DATES = { type: 'array', items: DATE, description: 'Every matching value in the order it appears in the state.' }

const requestOf = (field: unknown) => ({
  type: 'object',
  properties: { f0: { anyOf: [field, { type: 'null' }] } },
  required: ['f0'],
  additionalProperties: false,
})
const takes = (field: unknown, value: unknown): boolean =>
  compile(heldToWords('extraction', requestOf(field))).accepts(JSON.stringify({ f0: value }))

describe("the forms that the AI SDK's extraction puts into words", () => {
  it.each<[string, object, unknown[], unknown[]]>([
    ['dates', DATE, ['2028-02-29', '2026-12-31'], ['2027-02-29', '2026-13-01', '4 March', '']],
    ['times', TIME, ['00:00', '23:59:59'], ['24:00', '7:30', '12:60', '12:30Z']],
    [
      'moments',
      MOMENT,
      ['2027-03-03T17:30:00', '2027-03-03T17:30', '2027-03-03T17:30:00Z', '2000-02-29T00:00:00+05:30'],
      ['2027-03-03', '2027-02-29T17:30:00', '1900-02-29T17:30:00', '2027-04-31T17:30', '2027-03-03 17:30:00'],
    ],
    ['durations', LENGTH, [0, 2.5], [-1]],
    ['lists', DATES, [[], ['2026-03-04']], [['soon'], '2026-03-04']],
  ])('hold %s, or null', (_, field, right, wrong) => {
    expect(right.filter((value) => !takes(field, value))).toEqual([])
    expect(wrong.filter((value) => takes(field, value))).toEqual([])
    expect(takes(field, null)).toBe(true)
  })

  it('are held to where it is an extraction, in these words alone', () => {
    expect(heldToWords('extraction', true)).toBe(true)
    expect(heldToWords('answer', requestOf(DATE))).toEqual(requestOf(DATE))
    const others = [{ ...DATE, description: 'A date.' }, { ...DATE, type: 'integer' }, { type: 'string' }]
    for (const other of others) expect(heldToWords('extraction', requestOf(other))).toEqual(requestOf(other))
    for (const schema of [{}, { type: 'object' }, { properties: { f0: true, f1: { type: 'string' } } }]) {
      expect(heldToWords('extraction', schema)).toEqual(schema)
    }
  })
})
