import { Ajv2020 as Ajv } from 'ajv/dist/2020.js'
import { describe, expect, it } from 'vitest'
import { compile } from './index.js'
import { judge } from './judge.js'
import { refusal } from './refusal.test-helper.js'

const ajv = new Ajv({ strict: false })

/** Every array of these, up to a length. */
function* arrays(of: readonly unknown[], length: number): Generator<unknown[]> {
  yield []
  if (length > 0) for (const rest of arrays(of, length - 1)) for (const item of of) yield [item, ...rest]
}

describe('items that may not repeat', () => {
  const listed = { type: 'array', uniqueItems: true, items: { enum: ['x', 'xy', 1, null] } }

  it.each<[string, object]>([
    ['any number', {}],
    ['at least some', { minItems: 2 }],
    ['at most some', { maxItems: 2 }],
    ['exactly all', { minItems: 4 }],
    ['one at most', { maxItems: 1 }],
    ['truths', { items: { type: ['boolean', 'null'] }, minItems: 1 }],
    ['those that two schemas share', { allOf: [{ items: { enum: ['xy', 1, 5] } }] }],
    ['equal ones that look different', { items: { enum: [{ a: 1, b: 2 }, { b: 2, a: 1 }, 1] } }],
    ['of an alternative', { items: { anyOf: [{ const: 'x' }, { const: 1 }, { type: 'null' }] } }],
    ['objects', { items: { const: { a: 1 } } }],
  ])('are as ajv has them: %s', (_, more) => {
    const schema = { ...listed, ...more }
    const grammar = compile(schema)
    const validate = ajv.compile(schema)
    for (const array of arrays(['x', 'xy', 1, null, true, { a: 1 }], 4)) {
      expect(grammar.accepts(JSON.stringify(array)), JSON.stringify(array)).toBe(validate(array))
    }
  })

  it('are laid out like others', () => {
    const grammar = compile({ ...listed, minItems: 2 }, { layout: { indent: 2 } })
    expect(grammar.accepts(JSON.stringify(['xy', 'x'], null, 2))).toBe(true)
    expect(grammar.accepts(JSON.stringify(['x', 'x'], null, 2))).toBe(false)
  })

  it('cannot be more than there are', () => {
    expect(() => compile({ ...listed, minItems: 5 })).toThrow('no value can satisfy')
    expect(compile({ anyOf: [{ ...listed, minItems: 5 }, { type: 'null' }] }).accepts('null')).toBe(true)
  })

  it('may be many', () => {
    const items = { enum: Array.from({ length: 30 }, (_, i) => `tag-${i}`) }
    const grammar = compile({ ...listed, items })
    expect(grammar.accepts(JSON.stringify(items.enum.toReversed()))).toBe(true)
    expect(grammar.accepts(JSON.stringify([...items.enum, 'tag-29']))).toBe(false)
  })

  const letters = { type: 'string', maxLength: 2, pattern: '^[ab"]*$' }

  it.each<[string, object]>([
    ['any number', { items: { type: 'string' } }],
    ['as many as there are', { items: { ...letters, minLength: 1, maxLength: 1 }, minItems: 3 }],
    ['at most some', { items: letters, maxItems: 2 }],
    ['of alternatives', { items: { anyOf: [{ enum: ['a', 'x'] }, { ...letters, minLength: 2 }] }, minItems: 1 }],
    ['more than can be numbered', { items: { enum: ['a', 'b', ...Array.from({ length: 40 }, (_, i) => `x${i}`)] } }],
  ])('may be texts: %s', (_, more) => {
    const schema = { type: 'array', uniqueItems: true, ...more }
    const grammar = compile(schema)
    const validate = ajv.compile(schema)
    for (const array of arrays(['a', 'b', '"', 'ab', 'aé', ''], 4)) {
      expect(grammar.accepts(JSON.stringify(array)), JSON.stringify(array)).toBe(validate(array))
      expect(judge(schema, array)).toBe(validate(array))
    }
  })

  it('may not be more texts than there are', () => {
    const items = { ...letters, minLength: 1, maxLength: 1 }
    expect(() => compile({ type: 'array', uniqueItems: true, items, minItems: 4 })).toThrow('no value can satisfy')
  })

  it.each<[string, object]>([
    ['any', { items: {} }],
    ['numbers', { items: { type: 'integer' } }],
    ['texts beside others', { items: { type: ['string', 'null'] } }],
    ['so many texts', { items: { type: 'string' }, minItems: 301 }],
    ['too many', { items: { enum: Array.from({ length: 31 }, (_, i) => i) } }],
    ['by place', { prefixItems: [{ const: 1 }] }],
    ['counted', { contains: { const: 1 } }],
  ])('are refused where they cannot be told apart: %s', (_, more) => {
    const schema = { ...listed, ...more }
    const error = refusal(schema)
    expect([error.keyword, error.path]).toEqual(['uniqueItems', []])
    const lenient = compile(schema, { strict: false })
    expect(lenient.notEnforced.map(({ keyword }) => keyword)).toEqual(['uniqueItems'])
  })
})
