import { Ajv2020 as Ajv } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { describe, expect, it, vi } from 'vitest'
import { Fuel } from './fuel.js'
import { documentCheck, judge } from './judge.js'
import { SAMPLES } from './samples.test-helper.js'
import { QUESTIONS_AT_ONCE } from './schema/evaluate.js'
import { compile } from './structured.js'
import { randomDocument, randomness, smallWords, vocabularyOf } from './testing.test-helper.js'

const vocabulary = vocabularyOf(smallWords())
const ajv = new Ajv({ strict: false })
formats.default(ajv)

const DRAFT_4 = 'http://json-schema.org/draft-04/schema#'
const DRAFT_7 = 'http://json-schema.org/draft-07/schema#'
const CIRCLE = { anyOf: [{ $ref: '#/$defs/a' }], $defs: { a: { anyOf: [{ type: 'string' }, { $ref: '#/$defs/a' }] } } }

/** The same value with the keys of its objects the other way round. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, part]) => [key, reversed(part)]),
  )
}

describe('a value by itself', () => {
  const random = randomness(3)
  const values = Object.entries(SAMPLES).flatMap(([name, schema]) => {
    const grammar = compile(schema)
    return Array.from({ length: 4 }, () => {
      const constraint = grammar.start(vocabulary)
      const text = randomDocument(constraint, vocabulary, constraint.shortest + 30, random)
      return { name, value: JSON.parse(text) as unknown }
    })
  })

  it.each(Object.entries(SAMPLES))('gets the same verdict as from ajv, in any order of keys: %s', (name, schema) => {
    const validate = ajv.compile(schema as object)
    for (const each of values) {
      const right = each.name === name || validate(each.value)
      expect([each.value, judge(schema, each.value)]).toEqual([each.value, right])
      expect([each.value, judge(schema, reversed(each.value))]).toEqual([each.value, right])
    }
  })

  it('that is deeper than can be followed is neither right nor wrong', () => {
    const schema = { $defs: { list: { type: 'array', items: { $ref: '#/$defs/list' } } }, $ref: '#/$defs/list' }
    let deep: unknown[] = []
    for (let i = 0; i < 100_000; i++) deep = [deep]
    expect(judge(schema, [[[]]])).toBe(true)
    expect(judge(schema, deep)).toBeUndefined()
  })

  it.each<[string, unknown, unknown, boolean]>([
    ['decimals, not doubles', { anyOf: [{ multipleOf: 0.01 }, { type: 'null' }] }, 1.13, true],
    ['decimals, not doubles', { not: { multipleOf: 0.01 } }, 1.13, false],
    ['own properties alone', { properties: { constructor: { type: 'integer' } } }, {}, true],
    ['own properties alone', { properties: { toString: false } }, {}, true],
    ['own properties alone', { required: ['toString'] }, {}, false],
    ['own properties alone', { enum: [{ valueOf: 1 }] }, { valueOf: 1 }, true],
    ['the dialect', { $schema: DRAFT_7, $ref: '#/definitions/a', type: 'null', definitions: { a: true } }, 1, true],
    ['the dialect', { $ref: '#/$defs/a', type: 'null', $defs: { a: true } }, 1, false],
    ['the dialect', { $schema: DRAFT_4, exclusiveMinimum: true, minimum: 1 }, 1, false],
    ['a schema that no promise keeps', { $async: true, type: 'null' }, 1, false],
    ['what refers back to itself', CIRCLE, 'x', true],
    ['what refers back to itself', CIRCLE, 5, false],
    ['what refers back to itself', { not: CIRCLE, $defs: CIRCLE.$defs }, 5, true],
  ])('is judged by %s: %j', (_, schema, value, right) => {
    expect(judge(schema, value)).toBe(right)
  })

  it('of alternatives that recur is judged in steps that grow with its depth alone', () => {
    const kinds = ['a', 'b', 'c'].map((kind) => ({
      type: 'object',
      properties: { child: { $ref: '#' }, kind: { const: kind } },
      required: ['child', 'kind'],
    }))
    let deep: unknown = null
    for (let i = 0; i < 60; i++) deep = { child: deep, kind: 'c' }
    expect(judge({ anyOf: [...kinds, { type: 'null' }] }, deep)).toBe(true)
    expect(judge({ anyOf: [...kinds, { type: 'string' }] }, deep)).toBe(false)
  })
})

describe('a large value', () => {
  const alike = (kinds: number) =>
    Array.from({ length: kinds }, (_, i) => ({ properties: { kind: { const: `k${i}` } } }))
  const row = { kind: 'k19', list: ['a', 5, 'b'] }
  const items: Readonly<Record<string, object>> = {
    'one of many kinds': { anyOf: alike(20), required: ['kind'] },
    'exactly one of many kinds': { oneOf: [...alike(20), { required: ['other'] }], required: ['kind'] },
    'what refers back to itself': { properties: { list: { items: { anyOf: [{ $ref: '#/$defs/a' }, { const: 5 }] } } } },
    'what nothing looked at': { anyOf: alike(20), unevaluatedProperties: { type: 'array' } },
  }

  it.each(Object.entries(items))('is judged as ajv judges it, with pauses: %s', (_, one) => {
    const schema = { type: 'array', items: { type: 'object', ...one }, $defs: CIRCLE.$defs }
    // It overflows the stack where a schema refers back to itself.
    const validate = ajv.compile({ ...schema, $defs: { a: { type: 'string' } } })
    const check = documentCheck(schema, compile(true), true)
    const spent = vi.spyOn(Fuel.prototype, 'spend')
    for (const last of [row, { kind: 5, list: [null] }]) {
      const value = [...Array.from({ length: 1500 }, () => structuredClone(row)), last]
      spent.mockClear()
      let [pauses, asked, most] = [0, 0, 0]
      const work = check.faultInSlices(JSON.stringify(value))
      let next = work.next()
      for (; !next.done; next = work.next(), pauses++) {
        most = Math.max(most, spent.mock.calls.length - asked)
        asked = spent.mock.calls.length
      }
      expect(next.value === undefined).toBe(validate(value))
      expect(pauses).toBeGreaterThan(0)
      expect(most).toBeLessThan(3 * QUESTIONS_AT_ONCE)
    }
    spent.mockRestore()
  })
})

describe('a schema that refers back to itself without looking into the value', () => {
  it.each([
    ['anyOf', CIRCLE],
    ['oneOf', { oneOf: [{ type: 'string' }, { type: 'null' }, { allOf: [{ $ref: '#' }, { minLength: 3 }] }] }],
    ['denied', { not: { anyOf: [{ type: 'number' }, { $ref: '#/not' }] }, type: ['string', 'number'] }],
  ])('admits what it admits without that: %s', (_, schema) => {
    const grammar = compile(schema)
    for (const value of ['x', 'long', 5, null]) {
      expect([value, grammar.accepts(JSON.stringify(value))]).toEqual([value, judge(schema, value)])
    }
    expect(grammar.accepts('"x"')).toBe(true)
    expect(grammar.accepts('5')).toBe(false)
  })
})
