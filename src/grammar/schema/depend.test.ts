import { Ajv2020 as Ajv } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../../test/support/full.js'
import { compile, SchemaError } from '../structured.js'
import { masksOnTheWay, randomDocument, randomness, smallWords, vocabularyOf } from '../testing.test-helper.js'

const ajv = new Ajv({ strict: false })
const KEYS = ['a', 'b', 'c', 'd', 'e'] as const
const key = fc.constantFrom(...KEYS)
const small = vocabularyOf(smallWords())

/** Objects of one-letter keys, of which some demand others, or a schema. */
const schema = fc
  .record({
    dependentRequired: fc.dictionary(key, fc.uniqueArray(key, { maxLength: 3 }), { maxKeys: 5 }),
    dependentSchemas: fc.dictionary(key, fc.constantFrom({ maxProperties: 2 }, { required: ['e'] }, false), {
      maxKeys: 1,
    }),
    declared: fc.shuffledSubarray([...KEYS], { minLength: 2 }),
    never: fc.option(key),
    required: fc.uniqueArray(key, { maxLength: 2 }),
    minProperties: fc.nat(3),
    maxProperties: fc.integer({ min: 2, max: 6 }),
    closed: fc.boolean(),
  })
  .map(({ declared, never, closed, ...rest }) => {
    const properties: Record<string, unknown> = Object.fromEntries(declared.map((name) => [name, { type: 'null' }]))
    if (never !== null) properties[never] = false
    return { type: 'object', properties, ...(closed && { additionalProperties: false }), ...rest }
  })

describe('properties that demand others', () => {
  it('are enforced exactly: every set of keys as ajv judges it', () => {
    const all = Array.from({ length: 1 << KEYS.length }, (_, set) => {
      const keys = KEYS.filter((_, i) => (set >> i) & 1)
      // In the schema's own order; keys beyond it may come in any.
      const texts = permutations(keys).map((order) => `{${order.map((name) => `"${name}":null`).join()}}`)
      return { keys, value: Object.fromEntries(keys.map((name) => [name, null])), texts }
    })
    fc.assert(
      fc.property(schema, (schema) => {
        const validate = ajv.compile(schema)
        const grammar = orRefused(() => compile(schema))
        for (const { keys, value, texts } of all) {
          const right = validate(value)
          const accepted = grammar !== undefined && texts.some((text) => grammar.accepts(text))
          if (accepted !== right) expect([schema, keys, accepted]).toEqual([schema, keys, right])
        }
      }),
      { numRuns: runs(150) },
    )
  })

  it('close within every budget, with masks that equal every token tried', () => {
    fc.assert(
      fc.property(schema, fc.nat(), fc.constantFrom('compact', { indent: 1 }), (schema, seed, layout) => {
        const grammar = orRefused(() => compile(schema, { layout: layout as 'compact' }))
        if (grammar === undefined) return
        const random = randomness(seed)
        const { shortest } = grammar.start(small)
        for (let budget = shortest; budget < shortest + 6; budget++) {
          const text = randomDocument(grammar.start(small), small, budget, random)
          expect([schema, text, grammar.accepts(text)]).toEqual([schema, text, true])
        }
        for (const { closes, masked, tokens } of masksOnTheWay(grammar, small, random)) {
          expect(closes).toBe(true)
          expect(masked).toEqual(tokens)
        }
      }),
      { numRuns: runs(40) },
    )
  })

  it.each<[string, Record<string, readonly string[]>]>([
    ['many on one', Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`k${i}`, ['x']]))],
    ['one on many', { x: Array.from({ length: 60 }, (_, i) => `k${i}`) }],
    ['two by two', Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`k${i}`, [`x${i}`]]))],
    ['each way', Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`k${i}`, [`k${i ^ 1}`]]))],
  ])('do not multiply: %s', (_, dependentRequired) => {
    const grammar = compile({ type: 'object', dependentRequired })
    expect(grammar.accepts('{}')).toBe(true)
    const [name, demands] = Object.entries(dependentRequired)[0]!
    expect(grammar.accepts(`{"${name}":1}`)).toBe(false)
    const orders = [
      [name, ...demands],
      [...demands, name],
    ]
    expect(orders.some((order) => grammar.accepts(`{${order.map((each) => `"${each}":1`).join()}}`))).toBe(true)
  })
})

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length === 0) return [[]]
  return items.flatMap((item) => permutations(items.filter((other) => other !== item)).map((rest) => [item, ...rest]))
}

/** Undefined where no object satisfies the schema. */
function orRefused<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if (error instanceof SchemaError && error.message.startsWith('no value')) return undefined
    throw error
  }
}
