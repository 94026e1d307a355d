import { Ajv2020 as Ajv } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../../test/support/full.js'
import { atOnce } from '../../platform/turns.js'
import { Fuel } from '../fuel.js'
import { Context } from '../schema/context.js'
import { Document } from '../schema/document.js'
import { Values } from '../schema/values.js'
import { compile, SchemaError } from '../structured.js'
import { masksOnTheWay, randomDocument, randomness, smallWords, vocabularyOf } from '../testing.test-helper.js'
import { COMPACT } from './format.js'

const ajv = new Ajv({ strict: false })
const KEYS = ['a', 'b', 'c', 'd', 'e'] as const
const key = fc.constantFrom(...KEYS)
const small = vocabularyOf(smallWords())

const member = fc.constantFrom<unknown>({ const: 1 }, { type: 'null' }, { type: 'integer' }, { minimum: 2 }, false, {})
const subschema = fc.record({
  properties: fc.dictionary(key, member, { maxKeys: 2 }),
  required: fc.uniqueArray(key, { maxLength: 2 }),
})
const rule = fc.oneof(
  { weight: 3, arbitrary: fc.record({ if: subschema, ['then' as string]: subschema }) },
  { weight: 1, arbitrary: fc.record({ if: subschema, ['then' as string]: subschema, else: subschema }) },
  { weight: 1, arbitrary: fc.record({ not: subschema }) },
  { weight: 2, arbitrary: fc.record({ anyOf: fc.array(subschema, { minLength: 2, maxLength: 3 }) }) },
  { weight: 2, arbitrary: fc.record({ oneOf: fc.array(subschema, { minLength: 2, maxLength: 4 }) }) },
  { weight: 1, arbitrary: fc.record({ dependentRequired: fc.dictionary(key, fc.uniqueArray(key), { maxKeys: 2 }) }) },
  { weight: 1, arbitrary: fc.record({ anyOf: fc.constant([{ maxProperties: 2 }, { required: ['f'] }]) }) },
)

/** Objects of one-letter keys under many conditions, which would have far more shapes than members. */
const schema = fc
  .record({
    allOf: fc.array(rule, { minLength: 7, maxLength: 12 }),
    closed: fc.boolean(),
    required: fc.uniqueArray(key, { maxLength: 1 }),
    minProperties: fc.nat(2),
  })
  .map(({ closed, ...rest }) => ({
    type: 'object',
    properties: Object.fromEntries(KEYS.map((name) => [name, { enum: [null, 1, 3] }])),
    ...(closed && { additionalProperties: false }),
    ...rest,
  }))

/** Every object of these keys and values, and one with a key besides. */
function* objects(keys: readonly string[] = KEYS): Generator<Record<string, unknown>> {
  const [first, ...others] = keys
  if (first === undefined) {
    yield {}
    return
  }
  for (const rest of objects(others)) {
    yield rest
    for (const value of [null, 1, 3]) yield { [first]: value, ...rest }
  }
}

const hasGraph = (schema: unknown) =>
  atOnce(new Values(new Context(new Document(schema), new Fuel(), COMPACT, undefined)).root()).graph !== undefined

/** Undefined where no object satisfies the schema. */
function orNone<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if (error instanceof SchemaError && error.message.startsWith('no value')) return undefined
    throw error
  }
}

describe('objects told apart member by member', () => {
  it('are those that ajv takes: every object of five keys', () => {
    const all = [...objects()]
      .flatMap((object) => [object, { ...object, f: 1 }])
      .map((value) => ({ value, text: JSON.stringify(value) }))
    expect(all.length).toBe(2 * 4 ** KEYS.length)
    let graphs = 0
    fc.assert(
      fc.property(schema, (schema) => {
        const validate = ajv.compile(schema)
        const grammar = orNone(() => compile(schema))
        if (grammar !== undefined && hasGraph(schema)) graphs++
        for (const { value, text } of all) {
          const accepted = grammar?.accepts(text) === true
          const right = validate(value)
          // Of a hundred thousand one that is as it should be needs no expectation, which takes longer than the rest.
          if (accepted !== right) expect([schema, value, accepted]).toEqual([schema, value, right])
        }
      }),
      { numRuns: runs(120, 4) },
    )
    expect(graphs).toBeGreaterThan(runs(120, 4) / 40)
  })

  it('close within every budget, with masks that equal every token tried', () => {
    fc.assert(
      fc.property(schema, fc.nat(), fc.constantFrom('compact', { indent: 1 }), (schema, seed, layout) => {
        const grammar = orNone(() => compile(schema, { layout: layout as 'compact' }))
        if (grammar === undefined) return
        const random = randomness(seed)
        const { shortest } = grammar.start(small)
        for (let budget = shortest; budget < shortest + 6; budget++) {
          const text = randomDocument(grammar.start(small), small, budget, random)
          expect([schema, text, grammar.accepts(text), ajv.validate(schema, JSON.parse(text))]).toEqual([
            schema,
            text,
            true,
            true,
          ])
        }
        for (const { closes, masked, tokens } of masksOnTheWay(grammar, small, random)) {
          expect(closes).toBe(true)
          expect(masked).toEqual(tokens)
        }
      }),
      { numRuns: runs(40) },
    )
  })

  const many = <T>(n: number, make: (i: number) => T) => Array.from({ length: n }, (_, i) => make(i))

  it.each<[string, object, readonly unknown[], readonly unknown[]]>([
    [
      '40 independent conditions',
      {
        type: 'object',
        allOf: many(40, (i) => ({
          if: { properties: { [`k${i}`]: { const: 1 } }, required: [`k${i}`] },
          ['then' as string]: { required: [`x${i}`] },
        })),
      },
      [{}, { k0: 2 }, { k3: 1, x3: 0 }, { x3: 0 }],
      [{ k3: 1 }, { k3: 1, x4: 0 }, 5],
    ],
    [
      '30 open alternatives of which one must hold',
      {
        oneOf: many(30, (i) => ({
          type: 'object',
          properties: { [`k${i}`]: { type: 'string' } },
          required: [`k${i}`],
        })),
      },
      [{ k0: 'a' }, { k3: 1, k4: 'a' }, { k29: '', other: 1 }],
      [{}, { k0: 'a', k1: 'b' }, { k0: 1 }],
    ],
    [
      '40 pairs of which one demands the other',
      { type: 'object', dependentRequired: Object.fromEntries(many(40, (i) => [`k${i}`, [`x${i}`]])) },
      [{}, { k39: 1, x39: 1 }, { x3: 1 }, { y: 1 }],
      [{ k39: 1 }, { k1: 1, x2: 1 }],
    ],
  ])('do not multiply: %s', (_, schema, right, wrong) => {
    const grammar = compile(schema)
    const validate = ajv.compile(schema)
    for (const value of right)
      expect([value, grammar.accepts(JSON.stringify(value)), validate(value)]).toEqual([value, true, true])
    for (const value of wrong)
      expect([value, grammar.accepts(JSON.stringify(value)), validate(value)]).toEqual([value, false, false])
  })
})
