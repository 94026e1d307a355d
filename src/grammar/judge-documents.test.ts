import { describe, expect, it } from 'vitest'
import { closed } from '../../test/support/closed.js'
import { atOnce } from '../platform/turns.js'
import { type DocumentCheck, documentCheck, inputCheck, judge, textCheck } from './judge.js'
import { compile } from './structured.js'

const faultOf = (check: DocumentCheck, text: string) => atOnce(check.faultInSlices(text))

describe('a document', () => {
  const schema = closed({ a: { type: 'integer' }, b: { type: 'string', format: 'code' } })
  const formats = { code: '^[A-Z]{2}$' }
  const grammar = compile(schema, { formats })

  it('that is strict satisfies its schema, written however it may be', () => {
    const check = documentCheck(schema, grammar, true, formats)
    expect(check.strict).toBe(true)
    for (const right of ['{"a":1,"b":"CH"}', ' {\n"b" : "\\u0043H", "a": 1 }'])
      expect(faultOf(check, right)).toBeUndefined()
    for (const wrong of ['{"a":1,"b":"ch"}', '{"a":"1","b":"CH"}', '{"a":1}', '{"a":1,"b":"CH","c":0}', '[]', 'null'])
      expect(faultOf(check, wrong)).toBe('it does not satisfy the schema')
  })

  it('is JSON, and what is wrong with it is said as the parser says it', () => {
    for (const strict of [true, false]) {
      const check = documentCheck(schema, grammar, strict, formats)
      for (const text of ['', '{"a":1', '{"a":1,"b":"CH"}x']) {
        let message: unknown
        try {
          JSON.parse(text)
        } catch (error) {
          message = (error as Error).message
        }
        expect(faultOf(check, text)).toBe(message)
      }
    }
  })

  it('that is not strict may be any', () => {
    const check = documentCheck(schema, grammar, false, formats)
    expect(check.strict).toBe(false)
    for (const text of ['{"a":"x"}', '[]', '1']) expect(faultOf(check, text)).toBeUndefined()
  })

  it('that the judge cannot follow to its end is what the grammar says of it', () => {
    const list = { $defs: { list: { type: 'array', items: { $ref: '#/$defs/list' } } }, $ref: '#/$defs/list' }
    const deep = (depth: number, inside: string) => `${'['.repeat(depth)}${inside}${']'.repeat(depth)}`
    const its = compile(list)
    const check = documentCheck(list, its, true)
    expect(faultOf(check, deep(3, ''))).toBeUndefined()
    // Two hundred questions within one another are asked.
    expect(judge(list, JSON.parse(deep(200, '')))).toBe(true)
    expect(judge(list, JSON.parse(deep(201, '')))).toBeUndefined()
    expect(judge(list, JSON.parse(deep(5000, '')))).toBeUndefined()
    expect(faultOf(check, deep(5000, ''))).toBeUndefined()
    // What broke off is no longer there to be counted.
    const { bytes } = its
    expect(faultOf(check, deep(3, ''))).toBeUndefined()
    expect(its.bytes).toBeGreaterThan(bytes)
    expect(faultOf(check, deep(5000, '0'))).toBe('it does not satisfy the schema')
    expect(faultOf(check, deep(3, ''))).toBeUndefined()
    expect(faultOf(check, deep(3, '0'))).toBe('it does not satisfy the schema')
  })

  it('is judged by what was read of the schema for the one before, which the grammar counts as its own', () => {
    let reads = 0
    const watched = closed({ a: { type: 'integer' }, b: { type: 'string' } })
    const { properties } = watched
    Object.defineProperty(watched, 'properties', { enumerable: true, get: () => ++reads && properties })
    const its = compile(watched)
    const fault = (text: string) => faultOf(documentCheck(watched, its, true), text)
    const compiled = [reads, its.bytes] as const
    expect(fault('{"a":1,"b":"x"}')).toBeUndefined()
    const read = [reads, its.bytes] as const
    expect(read[0]).toBeGreaterThan(compiled[0])
    expect(read[1]).toBeGreaterThan(compiled[1])
    expect(fault('{"a":1,"b":2}')).toBe('it does not satisfy the schema')
    expect(fault('{"b":"x","a":1}')).toBeUndefined()
    expect([reads, its.bytes]).toEqual(read)
    const other = closed({ a: { type: 'string' } })
    expect(faultOf(documentCheck(other, compile(other), true), '{"a":1}')).toBe('it does not satisfy the schema')
  })

  it('takes more memory the more of the schema was read', () => {
    const grown = (count: number) => {
      const many = closed(Object.fromEntries(Array.from({ length: count }, (_, i) => [`p${i}`, { const: i }])))
      const its = compile(many)
      const before = its.bytes
      const text = JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, i) => [`p${i}`, i])))
      expect(faultOf(documentCheck(many, its, true), text)).toBeUndefined()
      return its.bytes - before
    }
    expect(grown(20)).toBeGreaterThan(grown(2))
  })

  it('has all steps of the judge to itself, whatever those before it took', () => {
    const many = { type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'integer' }] } }
    const its = compile(many)
    const check = documentCheck(many, its, true)
    // Each takes a good part of the steps that a document may take. In white space the grammar has no such document.
    const numbers = Array.from({ length: 60_000 }, (_, i) => i)
    const long = (last: string) => `[ ${numbers},${last}]`
    for (let i = 0; i < 4; i++) expect(faultOf(check, long('1'))).toBeUndefined()
    expect(faultOf(check, long('true'))).toBe('it does not satisfy the schema')
  })
})

it('a text for a tool is one of its grammar, however its JSON is written', () => {
  const check = inputCheck(compile(closed({ input: { enum: ['go', 'stäy'] } })))
  expect(check.strict).toBe(true)
  for (const right of ['{"input":"go"}', '{ "input" : "st\\u00e4y" }']) expect(faultOf(check, right)).toBeUndefined()
  for (const wrong of ['{"input":"run"}', '{"input":1}', '{}', 'null', '"go"', 'go', ''])
    expect(faultOf(check, wrong)).toBe('its input does not match its grammar')
})

it('a text that is no document is one of its grammar as it stands', () => {
  const check = textCheck(compile({ enum: ['go'] }))
  expect(check.strict).toBe(true)
  expect(faultOf(check, '"go"')).toBeUndefined()
  for (const wrong of ['go', ' "go"', '"g\\u006f"', ''])
    expect(faultOf(check, wrong)).toBe('it does not match the grammar')
})
