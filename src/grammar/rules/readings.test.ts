import { describe, expect, it, vi } from 'vitest'
import { runs } from '../../../test/support/full.js'
import { STEP_WORK, StepWork } from '../fuel.js'
import { type Grammar, GrammarError, gbnf } from '../structured.js'
import { allowed, randomness } from '../testing.test-helper.js'
import { Vocabulary } from '../tokens/vocabulary.js'
import { chanceGrammar, missingLetters } from './readings.test-helper.js'
import { textsOf } from './rules.test-helper.js'

const encoder = new TextEncoder()
const END = 0
const vocabularyOf = (words: readonly string[]) =>
  new Vocabulary([undefined, ...words.map((word) => encoder.encode(word))], { eos: [END] })

/** Undefined where nothing satisfies it, which the judge must then say too. */
function compiled(source: string, least: number): Grammar | undefined {
  try {
    return gbnf(source)
  } catch (error) {
    expect((error as Error).message, source).toMatch(/no text satisfies/)
    expect(least, source).toBe(Number.POSITIVE_INFINITY)
    return undefined
  }
}

describe('grammars made by chance', () => {
  const letters = vocabularyOf(['a', 'b'])
  const words = ['a', 'b', 'aa', 'ab', 'ba', 'aab', 'bab', 'abab']
  const several = vocabularyOf(words)
  const mask = new Uint32Array(1)

  it('derive, allow and end as a chart finds', () => {
    const random = randomness(29)
    for (let round = 0; round < runs(120); round++) {
      const { gbnf: source, plain } = chanceGrammar(random, 1 + Math.floor(random() * 4), 'ab')
      const missing = new Map(textsOf('ab', 5).map((text) => [text, missingLetters(plain, 'root', text)]))
      const costOf = (text: string) => missing.get(text) ?? missingLetters(plain, 'root', text)
      const grammar = compiled(source, costOf(''))
      if (grammar === undefined) continue
      for (const [text, least] of missing) {
        const message = `${source}\n${JSON.stringify(text)}`
        expect(grammar.accepts(text), message).toBe(least === 0)
        if (text.length > 4) continue
        const constraint = grammar.start(letters)
        const begun = [...text].every((letter) => constraint.accept('ab'.indexOf(letter) + 1))
        expect(begun, message).toBe(least < Number.POSITIVE_INFINITY)
        if (!begun) continue
        expect(constraint.shortest, message).toBe(least)
        for (const budget of [least, least + 1]) {
          expect(constraint.closing(budget), message).toBe(true)
          constraint.mask(mask)
          const wanted = [1, 2].filter((token) => costOf(`${text}${' ab'[token]}`) <= budget - 1)
          expect(allowed(mask, letters.size), `${message}, ${budget} left`).toEqual([
            ...(least === 0 ? [END] : []),
            ...wanted,
          ])
        }
      }
      for (const text of textsOf('ab', 2).filter((text) => costOf(text) < Number.POSITIVE_INFINITY)) {
        const constraint = grammar.start(several)
        for (const letter of text) expect(constraint.accept('ab'.indexOf(letter) + 1)).toBe(true)
        constraint.mask(mask)
        const wanted = words.flatMap((word, i) => (costOf(text + word) < Number.POSITIVE_INFINITY ? [i + 1] : []))
        const message = `${source}\n${JSON.stringify(text)}`
        expect(allowed(mask, several.size), message).toEqual([...(costOf(text) === 0 ? [END] : []), ...wanted])
      }
    }
  })

  it('that are large are read within what a call may take, or refused by the name of a rule', () => {
    const random = randomness(5)
    for (let round = 0; round < runs(40); round++) {
      const { gbnf: source } = chanceGrammar(random, 30, 'a')
      try {
        const grammar = gbnf(source)
        expect(typeof grammar.accepts('a'.repeat(60)), source).toBe('boolean')
      } catch (error) {
        expect(error, source).toBeInstanceOf(GrammarError)
        expect((error as Error).message).toMatch(/no text satisfies|the rule '\w+' can be read in too many ways/)
      }
    }
  })
})

const lines = (count: number, of: (i: number) => string) => Array.from({ length: count }, (_, i) => of(i)).join('\n')

/** What reading a text takes for each byte, in steps, and whether it is a text of the grammar. */
function read(source: string, text: string): { perByte: number; accepts: boolean } {
  const grammar = gbnf(source)
  const spend = vi.spyOn(StepWork.prototype, 'spend')
  const accepts = grammar.accepts(text)
  const steps = spend.mock.calls.reduce((sum, [work]) => sum + work, 0)
  spend.mockRestore()
  return { perByte: steps / text.length, accepts }
}

describe('what a text has many readings in is read once', () => {
  const ladder = (of: (i: number) => string) => `root ::= e0\n${lines(100, of)}\ne100 ::= [a-z] | "(" e0 ")"`
  const text = `ao5(bo3c)${'o1a'.repeat(100)}${'('.repeat(50)}`

  it.each<[string, string, string, boolean, number]>([
    [
      'a ladder of 100 levels',
      ladder((i) => `e${i} ::= e${i + 1} "o${i}" e${i} | e${i + 1}`),
      text.replaceAll('(', '').replaceAll(')', ''),
      true,
      1000,
    ],
    [
      'a ladder that begins with itself',
      ladder((i) => `e${i} ::= e${i} "o${i}" e${i + 1} | e${i + 1}`),
      text,
      false,
      1000,
    ],
    [
      'a ladder by way of other rules',
      ladder((i) => `e${i} ::= a${i} | b${i}\na${i} ::= e${i + 1} "o${i}" e${i}\nb${i} ::= e${i + 1}`),
      text,
      false,
      STEP_WORK / 2,
    ],
    [
      'rules that double, eighteen deep',
      `root ::= r0\n${lines(18, (i) => `r${i} ::= r${i + 1} r${i + 1}`)}\nr18 ::= "a" | ""`,
      'a'.repeat(200),
      true,
      STEP_WORK / 10,
    ],
    ['sums of sums', 'root ::= root "+" root | root root | "-" root | "1"', '1+1-1'.repeat(100), true, 100],
    ['all of three', 'root ::= root root root | root root | "a" | "b"?', 'ab'.repeat(200), true, 100],
    ['free texts in a row', `root ::= ${'.* '.repeat(500)}`, 'any'.repeat(50), true, 500],
    [
      'forty thousand words',
      `root ::= ${Array.from({ length: 40_000 }, (_, i) => `"w${i}"`).join(' | ')}`,
      'w39999',
      true,
      100,
    ],
  ])('%s', (_, source, text, accepts, most) => {
    const found = read(source, text)
    expect(found.accepts).toBe(accepts)
    expect(found.perByte).toBeLessThan(most)
  })

  it('however deeply it is nested', () => {
    const constraint = gbnf('root ::= "(" root ")" | "a"').start(vocabularyOf(['(', 'a', ')']))
    for (let depth = 0; depth < 1900; depth++) expect(constraint.accept(1)).toBe(true)
    expect(constraint.shortest).toBe(1901)
  })

  it('or refused by the name of a rule', () => {
    const grammar = gbnf('root ::= r\nr ::= ((r | "a") root+)*')
    expect(grammar.accepts('a'.repeat(20))).toBe(true)
    expect(() => grammar.accepts('a'.repeat(2000))).toThrow(/the rule '(r|root)' can be read in too many ways/)
    const constraint = grammar.start(vocabularyOf(['a'.repeat(1000)]))
    expect(() => constraint.mask(new Uint32Array(1))).toThrow(GrammarError)
  })
})
