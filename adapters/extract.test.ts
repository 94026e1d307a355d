import fc from 'fast-check'
import { nano } from 'local-v1-nano'
import { afterAll, describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { scripted } from '../src/engines/scripted.js'
import { webgpu } from '../src/engines/webgpu/index.js'
import { partial } from '../src/grammar/partial.js'
import { createV1 } from '../src/index.js'
import { jsonSchemaOf } from './client/schema.js'
import { extract } from './extract.js'

const v1 = createV1({ engine: webgpu({ models: [nano], device: 'cpu', log: () => {} }), keys: 'none', log: () => {} })
afterAll(() => v1.close())
const TEXT = 'Please send 12 desk lamps, it is urgent.'

describe('extract', () => {
  test('gives what a zod schema describes, with its type', async () => {
    const Order = z.object({ product: z.string(), quantity: z.int(), urgent: z.boolean() })
    const order = await extract(Order, TEXT, { from: v1, instructions: 'Extract the order.' })
    expectTypeOf(order).toEqualTypeOf<{ product: string; quantity: number; urgent: boolean }>()
    expect(order).toEqual({ product: 'desk lamps', quantity: 12, urgent: true })
  })

  test('gives what a transformed schema gives out', async () => {
    const Quantity = z.object({ quantity: z.int().transform((count) => `${count} pieces`) })
    const { quantity } = await extract(Quantity, TEXT, { from: v1, model: 'local-v1/nano' })
    expectTypeOf(quantity).toEqualTypeOf<string>()
    expect(quantity).toMatch(/^-?\d+ pieces$/)
  })

  test('gives what a JSON Schema describes, with its type', async () => {
    const order = await extract(
      {
        type: 'object',
        properties: {
          quantity: { type: 'integer' },
          urgency: { enum: ['low', 'high'] },
          tags: { type: 'array', items: { type: 'string' }, maxItems: 2 },
        },
        required: ['quantity', 'urgency'],
        additionalProperties: false,
      },
      TEXT,
      { from: v1, maxTokens: 200 },
    )
    expectTypeOf(order).toEqualTypeOf<{ quantity: number; urgency: 'low' | 'high'; tags?: string[] }>()
    expect(order.quantity).toBe(12)
  })

  test('tells with evidence how sure each value is and where the text says it, by typed pointers', async () => {
    const Order = z.object({
      product: z.string(),
      'a/b~c': z.array(z.object({ quantity: z.int().transform(String) })).max(1),
      urgent: z.boolean(),
    })
    const options = { from: v1, evidence: true, instructions: 'Extract the order of 12 desk lamps.' } as const
    const { value, evidence } = await extract(Order, TEXT, options)
    expectTypeOf(value).toEqualTypeOf<{ product: string; 'a/b~c': { quantity: string }[]; urgent: boolean }>()
    expectTypeOf<keyof typeof evidence>().toEqualTypeOf<'/product' | `/a~1b~0c/${number}/quantity` | '/urgent'>()
    expect(value).toEqual(await extract(Order, TEXT, { ...options, evidence: false }))
    const leaves = ['/product', ...value['a/b~c'].map((_, i) => `/a~1b~0c/${i}/quantity`), '/urgent']
    expect(Object.keys(evidence).sort()).toEqual(leaves.sort())
    for (const entry of Object.values(evidence)) expect(entry!.confidence > 0 && entry!.confidence <= 1).toBe(true)
    // The instructions say it as well: only what the text says is a source.
    const { start, end } = evidence['/product']!.source!
    expect(TEXT.slice(start, end)).toBe(value.product)
    expect(evidence['/urgent']).toMatchObject({ runnerUp: { value: !value.urgent } })

    const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] } as const
    const reply = await extract(schema, TEXT, { from: v1, evidence: true })
    expectTypeOf(reply.value).toEqualTypeOf<{ n: number }>()
    expectTypeOf<keyof typeof reply.evidence>().toEqualTypeOf<'/n'>()
    const open = await extract({}, TEXT, { from: v1, evidence: true, maxTokens: 50 })
    expectTypeOf<keyof typeof open.evidence>().toEqualTypeOf<string>()
  })

  test('says which /v1 tells no evidence', async () => {
    const refusing = createV1({ engine: scripted({ models: { 'a/b': '{"n":1}' } }), keys: 'none' })
    await expect(extract({}, TEXT, { from: refusing, evidence: true })).rejects.toMatchObject({
      status: 400,
      param: 'evidence',
    })
    const ignorant = {
      baseURL: 'http://localhost/v1',
      fetch: (url: string, init?: RequestInit) => {
        const { evidence, ...body } = JSON.parse(String(init?.body ?? '{}'))
        const plainInit = init?.method === 'POST' ? { ...init, body: JSON.stringify(body) } : init
        return refusing.fetch(new Request(url, plainInit))
      },
    }
    await expect(extract({}, TEXT, { from: ignorant, evidence: true })).rejects.toMatchObject({
      status: 502,
      param: 'evidence',
    })
    await refusing.close()
  })

  test('says what a refinement found, and what /v1 refuses', async () => {
    const Never = z.object({ quantity: z.int().refine(() => false, 'too many') })
    await expect(extract(Never, TEXT, { from: v1 })).rejects.toMatchObject({
      code: 'invalid_output',
      message: expect.stringContaining('at quantity: too many'),
    })
    const wrong = extract({ type: 'object', divisibleBy: 3 }, TEXT, { from: v1 })
    await expect(wrong).rejects.toMatchObject({ status: 400, param: 'response_format' })
    await expect(extract({}, TEXT, { from: v1, model: 'no/model' })).rejects.toMatchObject({ code: 'model_not_found' })
    const gone = AbortSignal.abort()
    await expect(extract({}, TEXT, { from: v1, signal: gone })).rejects.toThrow()
  })

  test('asks any /v1 by its address, with its key', async () => {
    const keyed = createV1({ engine: webgpu({ models: [nano], device: 'cpu', log: () => {} }), keys: ['k'] })
    const from = {
      baseURL: 'http://localhost/v1/',
      fetch: (url: string, init?: RequestInit) => keyed.fetch(new Request(url, init)),
    }
    const Quantity = z.object({ quantity: z.int() })
    await expect(extract(Quantity, TEXT, { from })).rejects.toMatchObject({ status: 401 })
    expect(await extract(Quantity, TEXT, { from: { ...from, apiKey: 'k' } })).toEqual({ quantity: 12 })
    await keyed.close()
  })
})

test('a Standard Schema means documents without further properties, also inside', () => {
  const schema = jsonSchemaOf(z.object({ a: z.array(z.object({ b: z.string() })), c: z.literal('properties') }))
  expect(schema).toMatchObject({
    additionalProperties: false,
    properties: { a: { items: { additionalProperties: false } } },
  })
  const silent = { '~standard': { version: 1, vendor: 'other', validate: (value: unknown) => ({ value }) } } as const
  expect(() => jsonSchemaOf(silent)).toThrow('other schema has no JSON Schema')
})

/** A schema of a library that writes this JSON Schema. */
const standard = (schema: unknown) =>
  ({
    '~standard': {
      version: 1,
      vendor: 'other',
      validate: (value: unknown) => ({ value }),
      jsonSchema: { input: () => schema },
    },
  }) as const

test('a Standard Schema may be an intersection, which only as a whole has no further properties', async () => {
  const object = (name: string) => ({ type: 'object', properties: { [name]: { type: 'integer' } }, required: [name] })
  const both = { allOf: [object('quantity'), { anyOf: [object('lamps'), object('desks')] }] }
  const schema = standard({ type: 'object', properties: { order: both }, required: ['order'] })
  const { order } = (await extract(schema, TEXT, { from: v1 })) as { order: Record<string, number> }
  expect(['lamps', 'desks'].map((name) => ['quantity', name])).toContainEqual(Object.keys(order))
  const texts = { type: 'string', allOf: [{ pattern: '^a' }, { pattern: 'b$' }] }
  expect(jsonSchemaOf(standard(texts))).toEqual(texts)
})

test('a Standard Schema may have properties with names of keywords', () => {
  const schema = jsonSchemaOf(z.object({ default: z.object({ a: z.string() }), allOf: z.object({ b: z.string() }) }))
  expect(schema).toMatchObject({
    properties: { default: { additionalProperties: false }, allOf: { additionalProperties: false } },
  })
})

test.each([
  ['a string', 'string', 'must be an object'],
  ['nothing', undefined, 'must be an object'],
  ['fields without an object around them', { a: z.string() }, "pass 'z.object({ a: … })'"],
])('%s is no schema, which the error says', async (_, schema, message) => {
  await expect(extract(schema as never, TEXT, { from: v1 })).rejects.toMatchObject({
    code: 'invalid_value',
    param: 'schema',
    message: expect.stringContaining(message),
  })
})

test.each([[undefined], [{}], [{ from: undefined }], [{ from: { url: 'http://localhost/v1' } }]])(
  'what answers must be named, which the error says: %j',
  async (options) => {
    await expect(extract({}, TEXT, options as never)).rejects.toMatchObject({ code: 'invalid_value', param: 'from' })
  },
)

describe('the beginning of a JSON text', () => {
  const values = fc.jsonValue({ stringUnit: 'binary', maxDepth: 3 })

  test('is read at every character, and whole in the end', () => {
    fc.assert(
      fc.property(values, fc.constantFrom(undefined, 2), (value, indent) => {
        const text = `${JSON.stringify(value, null, indent)} `
        for (let i = 0; i <= text.length; i++) partial(text.slice(0, i))
        expect(partial(text)).toEqual(JSON.parse(text))
      }),
      { numRuns: 150, examples: [[JSON.parse('{"__proto__":{"a":"\\ud83c\\udf0d"}}'), undefined]] },
    )
  })

  test('never takes back what it has told of an object', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), values), (value) => {
        const text = JSON.stringify(value)
        let names: string[] = []
        for (let i = 1; i <= text.length; i++) {
          const now = Object.keys((partial(text.slice(0, i)) ?? {}) as object)
          expect(now).toEqual(expect.arrayContaining(names))
          names = now
        }
      }),
      { numRuns: 60 },
    )
  })
})
