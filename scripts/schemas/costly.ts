/** A generator that looks for slow schemas: hostile pieces, put together and repeated at random. */

import { randomness } from '../../src/grammar/testing.test-helper.js'

type Random = () => number
type Json = Record<string, unknown>

const PROPERTIES = ['L', 'Lu', 'M', 'N', 'P', 'S', 'Zs', 'Script=Greek', 'Script=Han', 'Emoji', 'Cn', 'Alphabetic']
const ATOMS = ['a', 'b', '.', '\\d', '\\w', '\\W', '[^a]', '[a-f]', 'é', '\\b', '\\B', '^', '$', '(?:)', 'ab', '[^]']
const COUNTS = ['*', '+', '?', '{2}', '{0,2}', '{1,3}', '{3,}', '{0,40}', '{100}', '{1,2000}']
const GROUPS = ['(', '(?:', '(?=', '(?!', '(?<=', '(?<!']
const FORMATS = ['date', 'date-time', 'time', 'duration', 'email', 'hostname', 'ipv6', 'uri', 'uuid', 'uri-template']

const one = <T>(random: Random, of: readonly T[]): T => of[Math.floor(random() * of.length)]!
/** Mostly few, sometimes very many. */
const many = (random: Random, most: number): number => 1 + Math.floor(random() ** 4 * most)
const list = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i))

function pattern(random: Random, depth: number): string {
  const roll = random()
  if (depth === 0 || roll < 0.25) return one(random, ATOMS)
  if (roll < 0.3) return `\\p{${one(random, PROPERTIES)}}`
  if (roll < 0.35) {
    const members = list(many(random, 200), (i) => String.fromCodePoint(0x4e00 + i * (1 + Math.floor(random() * 3))))
    return `[${random() < 0.5 ? '^' : ''}${members.join('')}]`
  }
  const inner = pattern(random, depth - 1)
  if (roll < 0.5) return `(?:${inner})${one(random, COUNTS)}`
  if (roll < 0.6) return `${one(random, GROUPS)}${inner})`
  if (roll < 0.7) return `(?:${inner}|${pattern(random, depth - 1)})`
  if (roll < 0.8) return inner + pattern(random, depth - 1)
  if (roll < 0.9) return `(?:${inner})`.repeat(many(random, 60))
  // One shape around itself.
  const levels = many(random, 100)
  const [open, count] = [one(random, ['(', '(?:a?', '(?:a|', '(?:\\b|', '(?:b?']), one(random, COUNTS.slice(0, 6))]
  return open.repeat(levels) + inner + `)${count}`.repeat(levels)
}

function schema(random: Random, depth: number): unknown {
  const sub = () => schema(random, depth - 1)
  const name = () => one(random, ['a', 'b', 'c', 'kind', 'constructor', 'x-1', 'ä'])
  const map = (most: number, make: () => unknown) =>
    Object.fromEntries(list(many(random, most), (i) => [random() < 0.5 ? name() : `p${i}`, make()]))
  if (depth === 0 || random() < 0.1) {
    return one<() => unknown>(random, [
      () => ({ type: 'string', pattern: pattern(random, 3) }),
      () => ({ type: 'string', format: one(random, FORMATS), maxLength: many(random, 300) }),
      () => ({ type: 'string', minLength: many(random, 500), maxLength: 100 + many(random, 1e5) }),
      () => ({ type: 'number', minimum: random() * 1e3, maximum: 1e3 + random() * 1e6 }),
      () => ({
        type: one(random, ['number', 'integer']),
        multipleOf: Math.ceil(random() * 9999) / one(random, [1, 100]),
      }),
      () => ({ enum: list(many(random, 400), (i) => one<unknown>(random, [i, `v${i}`, null, [i], { a: i }])) }),
      () => ({ const: one<unknown>(random, ['x', 1, null, {}]) }),
      () => ({ $ref: one(random, ['#', '#/$defs/a', '#/$defs/b']) }),
      () => true,
    ])()
  }
  const combined = (keyword: string, most: number) => ({ [keyword]: list(many(random, most), sub) })
  return one<() => unknown>(random, [
    () => combined('allOf', 30),
    () => combined('anyOf', 60),
    () => combined('oneOf', 40),
    () => ({ not: sub() }),
    () => Object.fromEntries(['if', 'then', 'else'].map((keyword) => [keyword, sub()])),
    () => ({ ...(sub() as Json), ...(sub() as Json) }),
    () => ({ type: 'object', properties: map(200, sub), required: list(many(random, 20), name) }),
    () => ({ type: 'object', properties: map(30, sub), additionalProperties: random() < 0.5 ? false : sub() }),
    () => ({
      type: 'object',
      patternProperties: Object.fromEntries(list(many(random, 20), () => [pattern(random, 2), sub()])),
      minProperties: many(random, 20),
    }),
    () => ({ type: 'object', propertyNames: sub(), minProperties: many(random, 300) }),
    () => ({ dependentRequired: map(12, () => list(many(random, 4), name)) }),
    () => ({ dependentSchemas: map(6, sub) }),
    () => ({ type: 'array', prefixItems: list(many(random, 40), sub), items: sub(), minItems: many(random, 60) }),
    () => ({ type: 'array', items: sub(), contains: sub(), minContains: many(random, 5), maxContains: 9 }),
    () => ({ type: 'array', items: sub(), uniqueItems: true, minItems: many(random, 20) }),
  ])()
}

/** The same for the same seed. */
export function costly(seed: number): unknown {
  const random = randomness(seed)
  const root = schema(random, 1 + Math.floor(random() * 4))
  if (typeof root === 'boolean') return root
  return { ...(root as Json), $defs: { a: schema(random, 2), b: schema(random, 1) } }
}
