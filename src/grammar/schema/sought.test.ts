import { Ajv2020 as Ajv } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../../test/support/full.js'
import { judge } from '../judge.js'
import { compile, SchemaError } from '../structured.js'
import { masksOnTheWay, randomDocument, randomness, refusal, smallWords, vocabularyOf } from '../testing.test-helper.js'

const ajv = new Ajv({ strict: false })
const small = vocabularyOf(smallWords())

const value = fc.constantFrom<unknown>({ type: 'null' }, { const: 1 }, { type: 'integer' }, false)
const pattern = fc.constantFrom('^a', 'b$', '^[^a]', 'a')
const broken = fc.oneof(
  fc.record({
    additionalProperties: value,
    properties: fc.dictionary(fc.constantFrom('a', 'ab'), value, { maxKeys: 1 }),
  }),
  fc.record({ patternProperties: fc.dictionary(pattern, value, { minKeys: 1, maxKeys: 1 }) }),
  fc.record({ propertyNames: fc.record({ pattern }) }),
)

/** Objects that break one or two rules for keys, which need not be declared. */
const schema = fc
  .record({
    allOf: fc.array(fc.record({ not: broken }), { minLength: 1, maxLength: 2 }),
    required: fc.uniqueArray(fc.constantFrom('ba', 'a'), { maxLength: 1 }),
    declared: fc.boolean(),
    maxProperties: fc.option(fc.integer({ min: 2, max: 3 }), { nil: undefined }),
    graph: fc.boolean(),
  })
  .map(({ declared, maxProperties, graph, allOf, ...rest }) => ({
    type: 'object',
    ...(declared && { properties: { a: { enum: [null, 1, 2] } } }),
    ...(maxProperties !== undefined && { maxProperties }),
    allOf: graph ? [...allOf, ...MANY] : allOf,
    ...rest,
  }))

/** Conditions that are told apart member by member, as they are many. */
const MANY = ['p', 'q', 'r', 's', 't', 'u', 'v'].map((key) => ({
  if: { required: [key] },
  ['then' as string]: { properties: { [key]: { const: 0 } } },
}))

type Members = readonly (readonly [string, unknown])[]

/** Up to three members of these keys. */
function* objects(keys = ['a', 'ab', 'ba', 'c', 'cb'], most = 3): Generator<Members> {
  yield []
  if (most === 0) return
  for (const [i, key] of keys.entries()) {
    for (const rest of objects(keys.slice(i + 1), most - 1))
      for (const value of [null, 1, 2]) yield [[key, value], ...rest]
  }
}

function orders(members: Members): Members[] {
  if (members.length === 0) return [[]]
  return members.flatMap((one) => orders(members.filter((other) => other !== one)).map((rest) => [one, ...rest]))
}

/** Undefined where no object satisfies the schema, null where it is refused. */
function orNone<T>(work: () => T): T | undefined | null {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error
    return error.message.startsWith('no value') ? undefined : null
  }
}

describe('members that must be there under a key that nobody declared', () => {
  it('are enforced exactly: every object of three keys, in some order of its own', () => {
    const all = [...objects()].map((members) => {
      const texts = orders(members).map((order) => JSON.stringify(Object.fromEntries(order)))
      return { value: Object.fromEntries(members), texts }
    })
    let refused = 0
    fc.assert(
      fc.property(schema, (schema) => {
        const validate = ajv.compile(schema)
        const grammar = orNone(() => compile(schema))
        if (grammar === null) {
          refused++
          return
        }
        for (const { value, texts } of all) {
          const right = validate(value)
          const found = judge(schema, value)
          const accepted = texts.some((text) => grammar?.accepts(text) === true)
          // Of tens of thousands one that is as it should be needs no expectation, which takes longer than the rest.
          if (found !== right || accepted !== right)
            expect([schema, value, found, accepted]).toEqual([schema, value, right, right])
        }
      }),
      { numRuns: runs(80, 4) },
    )
    expect(refused).toBeLessThan(runs(80, 4) / 4)
  })

  it('close within every budget, with masks that equal every token tried', () => {
    fc.assert(
      fc.property(schema, fc.nat(), fc.constantFrom('compact', { indent: 1 }), (schema, seed, layout) => {
        const grammar = orNone(() => compile(schema, { layout: layout as 'compact' }))
        if (!grammar) return
        const random = randomness(seed)
        const { shortest } = grammar.start(small)
        for (let budget = shortest; budget < shortest + 8; budget++) {
          const text = randomDocument(grammar.start(small), small, budget, random)
          expect([schema, text, ajv.validate(schema, JSON.parse(text))]).toEqual([schema, text, true])
        }
        for (const { closes, masked, tokens } of masksOnTheWay(grammar, small, random)) {
          expect(closes).toBe(true)
          expect([schema, masked]).toEqual([schema, tokens])
        }
      }),
      { numRuns: runs(60) },
    )
  })

  it('are refused where two of them may be the last that a few keys leave', () => {
    const one = (key: string) => ({ not: { patternProperties: { [`^[${key}]$`]: { type: 'null' } } } })
    const error = refusal({ type: 'object', allOf: [one('ab'), one('bc')] })
    expect([error.keyword, error.path]).toEqual(['patternProperties', ['allOf', 1, 'not']])
  })
})
