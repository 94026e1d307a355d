import { describe, expect, it } from 'vitest'
import { turns } from '../../test/support/full.js'
import { SAMPLES } from './samples.test-helper.js'
import { compile, type LayoutOption } from './structured.js'
import {
  allowed,
  randomDocument,
  randomness,
  realSchemas,
  realWords,
  smallWords,
  tried,
  vocabularyOf,
} from './testing.test-helper.js'

const small = vocabularyOf(smallWords())
const INDENTS = [2, 1, 10, '\t'] as const
const layoutOf = (indent: number | '\t'): LayoutOption => ({ indent })

/** A compact text indented, by its letters alone: JavaScript's objects would reorder keys such as "7". */
function indentedText(compact: string, indent: number | '\t'): string {
  const unit = typeof indent === 'number' ? ' '.repeat(indent) : indent
  const line = (depth: number) => `\n${unit.repeat(depth)}`
  let depth = 0
  const step = (token: string): string => {
    if (token === ':') return ': '
    if (token === ',') return `,${line(depth)}`
    if (token === '{' || token === '[') return token + line(++depth)
    return token === '}' || token === ']' ? line(--depth) + token : token
  }
  return compact.replace(/"(?:[^"\\]|\\.)*"|\{\}|\[\]|[{}[\],:]/g, step)
}

const compactText = (text: string) => text.replace(/("(?:[^"\\]|\\.)*")|\s+/g, '$1')

function expectIndented(text: string, indent: number | '\t', name: string): void {
  const compact = compactText(text)
  expect(text, name).toBe(indentedText(compact, indent))
  const value = JSON.parse(text) as unknown
  // All but the order of numeric keys and numbers of more digits than a double keeps.
  if (JSON.stringify(value) === compact) expect(text, name).toBe(JSON.stringify(value, null, indent))
}

describe.each(INDENTS.map((indent, turn) => [indent, turn] as const))('an indent of %j', (indent, turn) => {
  const layout = layoutOf(indent)
  // Each schema with one of the indents, which are written by the same code.
  const samples = turns(Object.entries(SAMPLES), turn, INDENTS.length)

  it('gives what JSON.stringify gives, to the shortest budget', () => {
    const random = randomness(17)
    for (const [name, schema] of samples) {
      const grammar = compile(schema, { layout })
      const { shortest } = grammar.start(small)
      expect(grammar.start(small).closing(shortest - 1), name).toBe(false)
      for (let budget = shortest; budget < shortest + 10; budget++) {
        const text = randomDocument(grammar.start(small), small, budget, random)
        expectIndented(text, indent, name)
        expect(grammar.accepts(text), name).toBe(true)
      }
    }
  })

  it('admits the documents of the compact layout, indented, and no other text for them', () => {
    const random = randomness(19)
    for (const [name, schema] of samples) {
      const compact = compile(schema)
      const grammar = compile(schema, { layout })
      for (let walk = 0; walk < 4; walk++) {
        const constraint = compact.start(small)
        const text = randomDocument(constraint, small, constraint.shortest + Math.floor(random() * 40), random)
        const right = indentedText(text, indent)
        expect([name, right, grammar.accepts(right)]).toEqual([name, right, true])
        if (right !== text) expect(grammar.accepts(text), text).toBe(false)
        const breaks = [...right.matchAll(/\s/g)].map((match) => match.index)
        for (const at of breaks.slice(0, 12)) {
          for (const space of ['', ' ', '\n', '\t', '  ']) {
            const wrong = right.slice(0, at) + space + right.slice(at + 1)
            if (compactText(wrong) === text && wrong !== right)
              expect([wrong, grammar.accepts(wrong)]).toEqual([wrong, false])
          }
        }
      }
    }
  })
})

describe('masks of an indented layout', () => {
  for (const [name, schema] of Object.entries(SAMPLES)) {
    it(`equal every token tried by itself: ${name}`, () => {
      const random = randomness(name.length)
      for (const indent of [2, '\t'] as const) {
        const grammar = compile(schema, { layout: layoutOf(indent) })
        const mask = new Uint32Array(small.words)
        for (let walk = 0; walk < 2; walk++) {
          const constraint = grammar.start(small)
          for (let left = constraint.shortest + Math.floor(random() * 30); left > 0 && !constraint.done; left--) {
            if (walk % 2 === 0) expect(constraint.closing(left)).toBe(true)
            constraint.mask(mask)
            const tokens = tried(constraint, small)
            expect(allowed(mask, small.size)).toEqual(tokens)
            constraint.accept(tokens[Math.floor(random() * tokens.length)]!)
          }
        }
      }
    })
  }
})

describe('indented documents', () => {
  const schemas = realSchemas()
  it.skipIf(schemas === undefined)('of real schemas (skipped where the shared data is absent)', () => {
    const random = randomness(23)
    let checked = 0
    for (const { id, schema } of schemas!.filter((_, i) => i % 24 === 1)) {
      let grammar: ReturnType<typeof compile>
      try {
        grammar = compile(schema, { layout: { indent: 2 } })
      } catch {
        continue
      }
      const constraint = grammar.start(small)
      expectIndented(randomDocument(constraint, small, constraint.shortest, random), 2, id)
      const more = grammar.start(small)
      expectIndented(randomDocument(more, small, more.shortest + Math.floor(random() * 80), random), 2, id)
      checked++
    }
    expect(checked).toBeGreaterThan(50)
  })

  it('close with the tokens of Qwen 2.5, which join line breaks and spaces', () => {
    const vocabulary = vocabularyOf(realWords('qwen2_5'))
    const random = randomness(29)
    for (const [sample, schema] of Object.entries(SAMPLES)) {
      const constraint = compile(schema, { layout: { indent: 4 } }).start(vocabulary)
      const budget = constraint.shortest + Math.floor(random() * 20)
      expectIndented(randomDocument(constraint, vocabulary, budget, random), 4, sample)
    }
  })

  it('may be as deep as the schema lets them', () => {
    const list = { $ref: '#/$defs/list', $defs: { list: { type: 'array', items: { $ref: '#/$defs/list' } } } }
    let value: unknown = []
    for (let depth = 0; depth < 400; depth++) value = depth % 3 === 0 ? [value, []] : [value]
    const grammar = compile(list, { layout: { indent: 1 } })
    expect(grammar.accepts(JSON.stringify(value, null, 1))).toBe(true)
    expect(grammar.accepts(JSON.stringify(value, null, 2))).toBe(false)
    const constraint = grammar.start(small)
    for (const letter of JSON.stringify(value, null, 1).slice(0, 5000)) {
      expect(constraint.accept(letter.charCodeAt(0))).toBe(true)
    }
    const random = randomness(31)
    expect(() => randomDocument(constraint.clone(), small, constraint.shortest, random)).not.toThrow()
  })

  it('give out their line breaks and spaces as forced bytes', () => {
    const value = { one: 'two', three: [{ four: [] }, {}] }
    const constraint = compile({ const: value }, { layout: { indent: 3 } }).start(small)
    expect(new TextDecoder().decode(constraint.forced())).toBe(JSON.stringify(value, null, 3))
  })

  it('count as shorter the fewer lines they have', () => {
    const lines = { type: 'array', minItems: 1, items: { type: 'null' } }
    const grammar = compile({ anyOf: [{ type: 'string', minLength: 9 }, lines] }, { layout: { indent: 2 } })
    expect(grammar.shortest).toBe('"aaaaaaaaa"'.length)
    expect(compile(lines, { layout: { indent: 2 } }).shortest).toBe(JSON.stringify([null], null, 2).length)
  })

  it.each([0, 11, 1.5, -1, '  ', undefined])('have no indent of %j', (indent) => {
    expect(() => compile(true, { layout: { indent } as LayoutOption })).toThrow(TypeError)
  })
})
