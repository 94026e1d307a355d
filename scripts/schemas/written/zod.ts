/** What zod 4 writes: made by zod itself. */

import { z } from 'zod'

const address = z.object({
  street: z.string().min(1),
  city: z.string().min(1).max(85),
  zip: z.string().regex(/^\d{5}(-\d{4})?$/),
  country: z.string().length(2).toUpperCase(),
})
const money = z.object({ amount: z.number().multipleOf(0.01).nonnegative(), currency: z.enum(['EUR', 'USD', 'GBP']) })
const line = z.object({ sku: z.string(), quantity: z.int().positive(), price: money })
interface Category {
  name: string
  children: Category[]
}
const category: z.ZodType<Category> = z.object({
  name: z.string(),
  get children() {
    return z.array(category)
  },
})

const TYPES: Readonly<Record<string, z.ZodType>> = {
  user: z.object({ id: z.uuid(), name: z.string().min(1).max(100), email: z.email(), age: z.int().min(0).max(150) }),
  order: z.object({ id: z.string(), lines: z.array(line).min(1).max(20), ship: address, note: z.string().optional() }),
  'discriminated union': z.discriminatedUnion('type', [
    z.object({ type: z.literal('circle'), radius: z.number().positive() }),
    z.object({ type: z.literal('square'), side: z.number().positive() }),
    z.object({ type: z.literal('polygon'), points: z.array(z.tuple([z.number(), z.number()])).min(3) }),
  ]),
  recursive: category,
  'nullable and optional': z.object({ a: z.string().nullable(), b: z.number().optional(), c: z.boolean().nullish() }),
  record: z.record(z.string(), z.number()),
  'record of an enum': z.record(z.enum(['low', 'mid', 'high']), z.int()),
  'partial record': z.partialRecord(z.enum(['de', 'en', 'fr']), z.string()),
  tuple: z.tuple([z.string(), z.int(), z.boolean()]),
  'tuple with a rest': z.tuple([z.string()], z.number()),
  event: z.object({
    title: z.string(),
    start: z.iso.datetime(),
    end: z.iso.datetime({ offset: true }),
    day: z.iso.date(),
  }),
  network: z.object({ host: z.hostname(), v4: z.ipv4(), v6: z.ipv6(), block: z.cidrv4(), url: z.url() }),
  ids: z.object({ cuid: z.cuid2(), ulid: z.ulid(), nano: z.nanoid(), mac: z.mac(), phone: z.e164() }),
  'text checks': z.string().startsWith('ab').endsWith('z').includes('m').max(30),
  'loose object': z.looseObject({ kind: z.literal('a') }),
  catchall: z.object({ id: z.int() }).catchall(z.string()),
  intersection: z.intersection(z.looseObject({ a: z.string() }), z.looseObject({ b: z.number().int() })),
  union: z.union([z.string().max(5), z.number().lt(100), z.array(z.boolean()).max(3), z.null()]),
  numbers: z.object({
    i: z.int32(),
    u: z.uint32(),
    f: z.float32(),
    step: z.number().multipleOf(5),
    open: z.number().gt(0).lt(1),
  }),
  'template literal': z.templateLiteral(['v', z.int().min(0), '-', z.enum(['rc', 'beta'])]),
  enums: z.object({ role: z.enum(['admin', 'user', 'guest']), flags: z.array(z.enum(['a', 'b', 'c'])).max(5) }),
  'many literals': z.literal(['red', 'green', 7, null, true]),
  invoice: z.object({
    number: z.string().regex(/^INV-\d{4}-\d{3,6}$/),
    total: money,
    paid: z.boolean().default(false),
  }),
  'a plan of steps': z.object({
    goal: z.string().describe('What is to be reached'),
    steps: z
      .array(z.object({ action: z.enum(['search', 'read', 'write']), input: z.string(), done: z.boolean() }))
      .max(8),
    confidence: z.number().min(0).max(1),
  }),
  'a classification': z.object({
    label: z.enum(['bug', 'feature', 'question']),
    score: z.number().min(0).max(1),
    tags: z.array(z.string().min(1)).max(4),
    reason: z.string().max(200).nullable(),
  }),
}

export const ZOD: Readonly<Record<string, unknown>> = Object.fromEntries(
  Object.entries(TYPES).map(([name, type]) => [name, z.toJSONSchema(type)]),
)
