import { describe, expect, test } from 'vitest'
import { describeSchema } from './schema-prompt.js'

const line = (schema: Record<string, unknown> | boolean) => describeSchema(schema).replace('Answer with JSON: ', '')

describe('describeSchema', () => {
  test('names fields, types, enums, optional fields and descriptions', () => {
    const schema = {
      type: 'object',
      properties: {
        title: { type: 'string', description: 'the title of the book' },
        year: { type: 'integer' },
        tags: { type: 'array', items: { type: 'string' } },
        status: { enum: ['open', 'closed'] },
        note: { type: 'string' },
      },
      required: ['title', 'year', 'tags', 'status'],
      additionalProperties: false,
    }
    expect(describeSchema(schema)).toBe(
      'Answer with JSON: {"title": string - the title of the book, "year": integer, "tags": [string], "status": "open"|"closed", "note"?: string}',
    )
  })

  test.each([
    [true, 'any'],
    [{ type: ['string', 'null'] }, 'string|null'],
    [{ anyOf: [{ type: 'integer' }, { const: 'none' }] }, 'integer|"none"'],
    [{ type: 'string', format: 'date', maxLength: 10 }, 'string (date, at most 10 characters)'],
    [{ type: 'integer', minimum: 1, maximum: 5 }, 'integer (1 to 5)'],
    [{ type: 'array', items: { type: 'number' }, minItems: 2, maxItems: 2 }, '[number] (2 items)'],
    [{ prefixItems: [{ type: 'string' }], items: { type: 'number' } }, '[string, ...number]'],
    [{ type: 'object' }, 'object'],
    [{ type: 'object', additionalProperties: { type: 'number' } }, '{...: number}'],
    [{ type: 'object', additionalProperties: false }, '{}'],
    [{ allOf: [{ type: 'string' }], description: 'a  name\nof it' }, 'string - a name of it'],
  ])('%j', (schema, text) => {
    expect(line(schema)).toBe(text)
  })

  test('follows references and names the one that recurs', () => {
    const schema = {
      $ref: '#/$defs/node',
      $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } }, required: ['next'] } },
    }
    expect(line(schema)).toBe('{"next": node}')
    expect(line({ type: 'object', properties: { again: { $ref: '#' } } })).toBe('{"again"?: the same again}')
  })

  test('stays short and quick for a hostile schema', () => {
    const wide = {
      type: 'object',
      properties: Object.fromEntries([...Array(20_000).keys()].map((i) => [`p${i}`, true])),
    }
    expect(describeSchema(wide).length).toBeLessThan(12_000)
    let deep: Record<string, unknown> = { type: 'string' }
    for (let i = 0; i < 5000; i++)
      deep = i % 2 ? { type: 'object', properties: { a: deep, b: deep } } : { anyOf: [deep, { allOf: [deep, true] }] }
    expect(describeSchema(deep).length).toBeLessThan(12_000)
  })
})
