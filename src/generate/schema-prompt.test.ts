import { describe, expect, test } from 'vitest'
import { z } from 'zod'
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

  test('says nothing of what only machines need: what zod writes', () => {
    const order = z.object({
      product: z.string().min(1),
      quantity: z.int(),
      rank: z.int32().max(9),
      share: z.float32(),
      paid: z.int().positive(),
      below: z.int().max(-1),
      email: z.email(),
      due: z.iso.date().nullable(),
      id: z.uuid(),
    })
    expect(z.toJSONSchema(order)).toMatchObject({
      $schema: expect.any(String),
      properties: { quantity: { maximum: Number.MAX_SAFE_INTEGER }, email: { pattern: expect.any(String) } },
    })
    expect(describeSchema(z.toJSONSchema(order) as Record<string, unknown>)).toBe(
      'Answer with JSON: {"product": string, "quantity": integer, "rank": integer (at most 9), "share": number, ' +
        '"paid": integer (more than 0), "below": integer (at most -1), "email": string (email), ' +
        '"due": string (date)|null, "id": string (uuid)}',
    )
    expect(line(z.toJSONSchema(z.looseObject({ a: z.string() })) as Record<string, unknown>)).toBe('{"a": string}')
  })

  test('says nothing of what only machines need: what Pydantic and OpenAPI tools write', () => {
    const schema = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      title: 'Order',
      type: 'object',
      properties: {
        order_no: { type: 'string', title: 'Order No' },
        f1: { type: 'string', title: 'Delivery date' },
        note: { anyOf: [{ type: 'string', maxLength: 255 }, { type: 'null' }], title: 'Note', default: null },
        line: { $ref: '#/$defs/Line' },
        count: { type: 'integer', format: 'int32', minimum: -(2 ** 31), maximum: 2 ** 31 - 1, description: 'Count.' },
        tags: { type: 'array', items: { type: 'string' }, minItems: 0 },
        day: { type: 'string', format: 'date', pattern: '^[0-9-]+$' },
        by: { type: 'string', nullable: true },
      },
      required: ['order_no', 'f1', 'note', 'line', 'count', 'tags', 'day', 'by'],
      $defs: { Line: { title: 'Line', type: 'object', properties: { sku: { type: 'string', title: 'Sku' } } } },
    }
    expect(line(schema)).toBe(
      '{"order_no": string, "f1": string - Delivery date, "note": string|null, "line": {"sku"?: string}, ' +
        '"count": integer, "tags": [string], "day": string (date), "by": string|null}',
    )
  })

  test('keeps the bounds, patterns and notes that say something', () => {
    expect(line({ type: 'integer', minimum: 2 ** 31, maximum: 2 ** 40 })).toBe(`integer (${2 ** 31} to ${2 ** 40})`)
    expect(line({ type: 'integer', minimum: -40 })).toBe('integer (at least -40)')
    expect(line({ type: 'string', pattern: '^[A-Z]{2}-[0-9]+$' })).toBe('string (/^[A-Z]{2}-[0-9]+$/)')
    expect(line({ type: 'object', properties: { a: { type: 'string', description: 'a, not b' } } })).toBe(
      '{"a"?: string - a, not b}',
    )
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
