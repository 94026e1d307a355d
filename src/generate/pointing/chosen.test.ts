import { describe, expect, it } from 'vitest'
import type { Part, TokenConstraint } from '../../contract/index.js'
import { compile } from '../../grammar/index.js'
import { smallText } from '../testing/call.test-helper.js'
import { Chosen } from './chosen.js'
import { settledGrammar } from './settled-grammar.js'

const { tokenizer, vocabulary } = smallText
const schemaOf = (inner: object) => ({
  type: 'object',
  properties: { name: { type: 'string', ...inner }, year: { type: 'integer' } },
  required: ['name', 'year'],
  additionalProperties: false,
})
const whole = compile(schemaOf({}))
const narrow = compile(schemaOf({ enum: ['sea'] }))
const utf8 = new TextEncoder()

type TextDelta = Extract<Part, { readonly type: 'text-delta' }>
const delta = (text: string, more: Partial<TextDelta> = {}): TextDelta => ({
  ...{ type: 'text-delta', choice: 0, text },
  ...more,
})
const shown = (parts: Iterable<TextDelta>) => [...parts].map(({ text, forced }) => [text, forced !== undefined])
const joined = (parts: readonly (readonly [string, boolean] | (string | boolean)[])[], forced: boolean) =>
  parts
    .filter((part) => part[1] === forced)
    .map(([text]) => text)
    .join('')

describe('text that settled values made certain', () => {
  it('is told as chosen, and names and signs as forced', () => {
    const chosen = new Chosen(whole, vocabulary, tokenizer)
    const parts = shown(chosen.parts(delta('{"name":"sea","year":', { forced: 12 })))
    expect(parts.map(([text]) => text).join('')).toBe('{"name":"sea","year":')
    expect(joined(parts, true)).toContain('{"name":')
    expect(joined(parts, true)).toContain('"year":')
    expect(joined(parts, true)).not.toContain('sea')
    expect(joined(parts, false)).toContain('sea')
  })

  it('has as many forced tokens as were told, at most', () => {
    const parts = [...new Chosen(whole, vocabulary, tokenizer).parts(delta('{"name":"sea","year":', { forced: 5 }))]
    expect(parts.reduce((sum, { forced = 0 }) => sum + forced, 0)).toBeLessThanOrEqual(5)
  })

  it('stays as it is where it was chosen, where nothing of it was settled, and each choice by itself', () => {
    const chosen = new Chosen(whole, vocabulary, tokenizer)
    const first = delta('{"name":', { forced: 3 })
    expect([...chosen.parts(first)]).toEqual([first])
    const other = delta('{"name":"', { forced: 4, choice: 1 })
    expect([...chosen.parts(other)]).toEqual([other])
    const value = delta('"sea"')
    expect([...chosen.parts(value)]).toEqual([value])
    expect(joined(shown(chosen.parts(delta(',"year":1', { forced: 4 }))), false)).toBe('1')
  })

  it('stays as it is where the whole grammar has no such text', () => {
    const chosen = new Chosen(whole, vocabulary, tokenizer)
    const odd = delta('[', { forced: 1 })
    expect([...chosen.parts(odd)]).toEqual([odd])
    const next = delta('{"name":"sea"', { forced: 5 })
    expect([...chosen.parts(next)]).toEqual([next])
  })
})

describe('a grammar of which values are settled', () => {
  const settled = settledGrammar(whole, narrow)
  const started = (text: string): TokenConstraint => {
    const constraint = settled.start(vocabulary)
    for (const token of tokenizer.encodePlain(text)) expect(constraint.accept(token)).toBe(true)
    return constraint
  }

  it('has the texts of the narrow one', () => {
    expect(settled.accepts('{"name":"sea","year":1}')).toBe(true)
    expect(settled.accepts('{"name":"dog","year":1}')).toBe(false)
    expect(settled.source).toBe(narrow.source)
  })

  it('is certain of what both are certain of, and allows what the narrow one does', () => {
    const constraint = started('{"name":"')
    expect(constraint.forced()).toHaveLength(0)
    expect(narrow.start(vocabulary).shortest).toBe(settled.start(vocabulary).shortest)
    const start = settled.start(vocabulary).forced()
    expect(new TextDecoder().decode(start)).toBe('{"name":"')
    const [dog] = tokenizer.encodePlain('dog')
    expect(constraint.accept(dog!)).toBe(false)
    const mask = new Uint32Array(Math.ceil(vocabulary.size / 32))
    constraint.mask(mask)
    expect(mask[dog! >>> 5]! & (1 << (dog! & 31))).toBe(0)
    const after = started('{"name":"sea"')
    expect(new TextDecoder().decode(after.forced())).toBe(',"year":')
  })

  it('goes back, and on apart', () => {
    const constraint = started('{"name":"sea"')
    const apart = constraint.clone()
    const [comma] = tokenizer.encodePlain(',')
    expect(constraint.accept(comma!)).toBe(true)
    expect(apart.forced()).toEqual(utf8.encode(',"year":'))
    constraint.rollback(1)
    expect(constraint.forced()).toEqual(utf8.encode(',"year":'))
    expect(constraint.done).toBe(false)
    expect(constraint.closing(1)).toBe(false)
    expect(constraint.closing(50)).toBe(true)
    expect(started('{"name":"sea","year":1}').done).toBe(true)
  })
})
