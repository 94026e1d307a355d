import { Ajv2020 as Ajv } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { describe, expect, it } from 'vitest'
import { compile } from './index.js'
import { judge } from './judge.js'
import { SAMPLES } from './samples.test-helper.js'
import { randomDocument, randomness, smallWords, vocabularyOf } from './testing.test-helper.js'

const vocabulary = vocabularyOf(smallWords())
const ajv = new Ajv({ strict: false })
formats.default(ajv)

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

  it.each(Object.entries(SAMPLES))('is judged as ajv judges it, in any order of keys: %s', (name, schema) => {
    const validate = ajv.compile(schema as object)
    for (const each of values) {
      const right = each.name === name || validate(each.value)
      expect([each.value, judge(schema, each.value)]).toEqual([each.value, right])
      expect([each.value, judge(schema, reversed(each.value))]).toEqual([each.value, right])
    }
  })

  it('that is deeper than can be followed is not believed', () => {
    const schema = { $defs: { list: { type: 'array', items: { $ref: '#/$defs/list' } } }, $ref: '#/$defs/list' }
    let deep: unknown[] = []
    for (let i = 0; i < 100_000; i++) deep = [deep]
    expect(judge(schema, [[[]]])).toBe(true)
    expect(judge(schema, deep)).toBe(false)
  })
})
