import { Ajv2020 as Ajv } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { describe, expect, it } from 'vitest'
import { runs, turns } from '../../test/support/full.js'
import { SAMPLES } from './samples.test-helper.js'
import { compile, type Grammar, type Vocabulary } from './structured.js'
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

const ajv = new Ajv({ strict: false, allErrors: false })
formats.default(ajv)
const small = vocabularyOf(smallWords())
const vocabularies: [string, () => Vocabulary, number][] = [
  ['a small one', () => small, 40],
  ['GPT-2', () => vocabularyOf(realWords('gpt2')), 6],
  ['Llama 3', () => vocabularyOf(realWords('llama3_2')), 3],
  ['Qwen 2.5', () => vocabularyOf(realWords('qwen2_5')), 3],
]

describe('masks', () => {
  for (const [name, schema] of Object.entries(SAMPLES)) {
    it(`equal every token tried by itself: ${name}`, () => {
      const random = randomness(name.length)
      const grammar = compile(schema)
      const mask = new Uint32Array(small.words)
      for (let walk = 0; walk < runs(24); walk++) {
        const constraint = grammar.start(small)
        const budget = constraint.shortest + Math.floor(random() * 30)
        for (let left = budget; left > 0 && !constraint.done; left--) {
          // Half of the walks without a budget: another path through the masks.
          if (walk % 2 === 0) expect(constraint.closing(left)).toBe(true)
          constraint.mask(mask)
          const tokens = tried(constraint, small)
          expect(allowed(mask, small.size)).toEqual(tokens)
          expect(tokens.length).toBeGreaterThan(0)
          constraint.accept(tokens[Math.floor(random() * tokens.length)]!)
        }
      }
    })
  }
})

describe('generated documents satisfy their schema and are accepted as texts', () => {
  for (const [vocabularyName, load, walks] of vocabularies) {
    it(`with ${vocabularyName}`, () => {
      const vocabulary = load()
      const random = randomness(7)
      for (const [name, schema] of Object.entries(SAMPLES)) {
        const grammar = compile(schema)
        const validate = ajv.compile(schema as object)
        for (let walk = 0; walk < runs(walks); walk++) {
          const constraint = grammar.start(vocabulary)
          const text = randomDocument(constraint, vocabulary, constraint.shortest + Math.floor(random() * 60), random)
          expectValid(validate, grammar, text, name)
        }
      }
    })
  }

  const schemas = realSchemas()
  it.skipIf(schemas === undefined)('for real schemas (skipped where the shared data is absent)', () => {
    const vocabulary = vocabularyOf(smallWords())
    const random = randomness(11)
    let checked = 0
    for (const { id, schema } of schemas!.filter((_, i) => i % 16 === 0)) {
      const grammar = strictly(schema)
      if (grammar === undefined) continue
      const constraint = grammar.start(vocabulary)
      const text = randomDocument(constraint, vocabulary, constraint.shortest + Math.floor(random() * 80), random)
      expect(grammar.accepts(text), id).toBe(true)
      checked++
    }
    expect(checked).toBeGreaterThan(100)
  })
})

/** Tokens that a budget has beyond the fewest. */
const MORE = Array.from({ length: 24 }, (_, i) => i + 1)

describe('documents close for every budget from the shortest upwards', () => {
  for (const [name, schema] of Object.entries(SAMPLES)) {
    it(name, () => {
      const grammar = compile(schema)
      const random = randomness(3)
      const { shortest } = grammar.start(small)
      // The least that is enough, and of those above it each schema has others.
      for (const more of [0, ...turns(MORE, name.length, 4)]) {
        const budget = shortest + more
        const text = randomDocument(grammar.start(small), small, budget, random)
        expect(grammar.accepts(text)).toBe(true)
      }
      expect(grammar.start(small).closing(shortest - 1)).toBe(false)
    })
  }
})

describe('forced bytes', () => {
  for (const [name, schema] of Object.entries(SAMPLES)) {
    it(`are the only way on: ${name}`, () => {
      const grammar = compile(schema)
      const random = randomness(5)
      for (let walk = 0; walk < runs(12); walk++) {
        const constraint = grammar.start(small)
        for (let left = constraint.shortest + 20; left > 0 && !constraint.done; left--) {
          for (const byte of constraint.clone().forced()) {
            const probe = constraint.clone()
            const singles = Array.from({ length: 256 }, (_, other) => other).filter((other) => {
              const at = probe.clone()
              return at.accept(other)
            })
            expect(singles).toEqual([byte])
            break
          }
          const mask = new Uint32Array(small.words)
          constraint.mask(mask)
          const ids = allowed(mask, small.size)
          constraint.accept(ids[Math.floor(random() * ids.length)]!)
        }
      }
    })
  }

  it('span keys, punctuation, lone values and closing braces', () => {
    const grammar = compile({
      type: 'object',
      properties: {
        first: { const: 'one' },
        second: {
          type: 'object',
          properties: { third: { type: 'null' } },
          required: ['third'],
          additionalProperties: false,
        },
      },
      required: ['first', 'second'],
      additionalProperties: false,
    })
    const constraint = grammar.start(small)
    expect(new TextDecoder().decode(constraint.forced())).toBe('{"first":"one","second":{"third":null}}')
  })
})

function expectValid(validate: (data: unknown) => boolean, grammar: Grammar, text: string, name: string): void {
  expect(validate(JSON.parse(text)), `${name}: ${text}`).toBe(true)
  expect(grammar.accepts(text), `${name}: ${text}`).toBe(true)
}

function strictly(schema: unknown): Grammar | undefined {
  try {
    return compile(schema)
  } catch {
    return undefined
  }
}
