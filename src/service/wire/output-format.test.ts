import { describe, expect, it } from 'vitest'
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
    expect(outputOf({ type: 'json_schema', schema })).toMatchObject({ type: 'json_schema', strict: true, schema })
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
    ['response_format.json_schema.description', format({ description: 5 })],
  ])('is refused for %s', (param, response_format) => {
    expect(refusedFor({ ...minimal, response_format })).toBe(param)
  })
})
