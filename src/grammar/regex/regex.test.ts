import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../../test/support/full.js'
import { TextError } from '../automata/types.js'
import { walk } from '../automata/walk.test-helper.js'
import { acceptsText } from '../automata/words.js'
import { Fuel } from '../fuel.js'
import { compileRegex } from './regex.js'

/** More scripts than anybody lists. */
const SCRIPTS = [
  ...['Adlam', 'Arabic', 'Armenian', 'Balinese', 'Bengali', 'Braille', 'Cherokee', 'Coptic', 'Cyrillic', 'Devanagari'],
  ...['Ethiopic', 'Georgian', 'Gothic', 'Greek', 'Gujarati', 'Gurmukhi', 'Han', 'Hangul', 'Hebrew', 'Hiragana'],
]
const LETTERS = ['a', 'b', '-', ' ', '0', '_', 'é', '😀', '\n', 'Z', '\u2028']
const atom = fc.constantFrom(
  ...['a', 'b', '0', 'é', '😀', '.', '\\w', '\\W', '\\d', '\\s', '\\S', '[^a]', '[a-b😀]', '[^]', '\\p{L}', '\\P{Lu}'],
  ...['\\u{1f600}', '\\x61', '\\-', '[\\w-]', '\\u0061', '[\\b]', '\\cJ'],
)
const { pattern } = fc.letrec<{ pattern: string }>((tie) => ({
  pattern: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    { weight: 4, arbitrary: atom },
    { weight: 2, arbitrary: fc.constantFrom('^', '$', '\\b', '\\B') },
    { weight: 5, arbitrary: fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => a + b) },
    { weight: 2, arbitrary: fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => `(?:${a}|${b})`) },
    {
      weight: 3,
      arbitrary: fc
        .tuple(tie('pattern'), fc.constantFrom('*', '+', '?', '*?', '{2}', '{1,3}', '{0,2}', '{2,}'))
        .map(([a, count]) => `(${a})${count}`),
    },
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.constantFrom('?=', '?!', '?<=', '?<!'), tie('pattern'))
        .map(([kind, a]) => `(${kind}${a})`),
    },
  ),
}))
const text = fc.array(fc.constantFrom(...LETTERS), { maxLength: 7 }).map((letters) => letters.join(''))

function compiled(source: string) {
  try {
    return compileRegex(source)
  } catch (error) {
    if (error instanceof TextError) return undefined
    throw error
  }
}

/**
 * The search is spelt out, because V8 also tries positions inside a surrogate pair. `\\-` outside a class is what
 * Annex B takes and the `u` flag does not.
 */
function platform(source: string): RegExp {
  return new RegExp(`^[^]*?(?:${source.replaceAll(/(?<!\[\\w|\[)\\-/g, '-')})`, 'u')
}

describe('regular expressions', () => {
  it.each<[string, readonly string[]]>([
    // As valibot writes a domain, zod its regexes, and Angular an address.
    [
      '^(?=.{1,253}$)(?:(?![Xx][Nn]--)[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\\.)+[A-Za-z]{2,63}$',
      ['example.com', 'xn--a.com', `${'ab.'.repeat(84)}x`, `${'a.'.repeat(125)}com`, `${'a.'.repeat(126)}com`],
    ],
    ['^(?=.{1,254}$)(?=.{1,64}@)[a-z]+@[a-z]+(?:\\.[a-z]+)*$', ['a@b', `${'a'.repeat(65)}@b`, `a@${'b'.repeat(253)}`]],
    ['^(?=.{2,20}$)a', ['a', 'ab', 'ab\n', 'a😀', `a${'b'.repeat(19)}`, `a${'b'.repeat(20)}`, 'bb']],
    ['^(?=.{2,20}$)a|b', ['a', 'xb', 'ab', `${'a'.repeat(30)}b`, 'a'.repeat(30)]],
    ['^(?=.{20,}$)(?=.*\\d)[a-z\\d]+$', ['a'.repeat(20), `${'a'.repeat(20)}1`, 'a1']],
    ['^(?![a-z]{2,20}$).*x', ['ax', 'x1', 'x']],
  ])('count characters for a lookahead at the beginning: %s', (source, texts) => {
    const automaton = compileRegex(source, new Fuel(50_000))
    for (const text of texts) expect([text, acceptsText(automaton, text)]).toEqual([text, platform(source).test(text)])
  })

  it("agree with the platform's RegExp on random texts", () => {
    let refused = 0
    let all = 0
    fc.assert(
      fc.property(pattern, fc.array(text, { minLength: 8, maxLength: 8 }), (source, texts) => {
        const lenient = source.includes('\\-') && /\\u\{|\\p|\\P/.test(source)
        fc.pre(!lenient)
        all++
        const automaton = compiled(source)
        if (automaton === undefined) {
          refused++
          return
        }
        for (const sample of texts)
          expect([source, sample, acceptsText(automaton, sample)]).toEqual([
            source,
            sample,
            platform(source).test(sample),
          ])
      }),
      { numRuns: runs(4000, 4) },
    )
    // Lookaheads inside lookbehinds are all that may be refused.
    expect(refused).toBeLessThan(all / 5)
  })

  it('produce only texts that the platform matches', () => {
    fc.assert(
      fc.property(pattern, fc.array(fc.nat(30), { maxLength: 12 }), (source, choices) => {
        fc.pre(!(source.includes('\\-') && /\\u\{|\\p|\\P/.test(source)))
        const automaton = compiled(source)
        if (automaton === undefined || automaton.empty) return
        const sample = walk(automaton, choices)
        expect(acceptsText(automaton, sample)).toBe(true)
        expect([source, sample, platform(source).test(sample)]).toEqual([source, sample, true])
      }),
      { numRuns: runs(3000) },
    )
  })

  it('search unless anchored, count code points and end at the very end', () => {
    const cases: readonly [string, string, boolean][] = [
      ['b', 'abc', true],
      ['^b', 'abc', false],
      ['^.$', '😀', true],
      ['^..$', '😀', false],
      ['^a$', 'a\n', false],
      ['a|^b', 'cb', false],
      ['(?!)', '', false],
      ['', '', true],
      ['^(?:(?!--).)*$', 'a-b', true],
      ['^(?:(?!--).)*$', 'a--b', false],
      ['^(?=.*\\d)(?=.*[a-z])(?=.*[A-Z]).{8,}$', 'Abcdefg1', true],
      ['^(?=.*\\d)(?=.*[a-z])(?=.*[A-Z]).{8,}$', 'Abcdefgh', false],
      ['(?<!\\d)\\d{3}(?!\\d)', '1234', false],
      ['(?<!\\d)\\d{3}(?!\\d)', 'x123', true],
      ['\\bfoo\\b', 'a foo.', true],
      ['\\bfoo\\b', 'afoo', false],
      // A repetition of exactly so many rounds, of which some may be empty and assert something.
      ['((?:(^)+|a)){2}é', 'aé', true],
      ['((?:(^)+|a)){2}é', 'baé', false],
      ['((?:(^)+|a)){2}é', 'baaé', true],
      ['^(?:a|\\b){2}$', 'aaa', false],
    ]
    for (const [source, sample, expected] of cases) {
      expect([source, sample, acceptsText(compileRegex(source), sample)]).toEqual([source, sample, expected])
    }
  })

  it('never accept a lone surrogate', () => {
    for (const source of ['', '.', '[^a]', '\\W', '^[\\ud800-\\udfff]$']) {
      const automaton = compileRegex(source)
      expect(automaton.next(automaton.start, 0xd800)).toBe(0)
    }
    expect(compileRegex('^\\ud800$').empty).toBe(true)
    expect(acceptsText(compileRegex('^\\ud83d\\ude00$'), '😀')).toBe(true)
  })

  it('keep every repetition countable', () => {
    const automaton = compileRegex('^[a-z]{2,9000}$')
    expect(acceptsText(automaton, 'a'.repeat(9000))).toBe(true)
    expect(acceptsText(automaton, 'a'.repeat(9001))).toBe(false)
    expect(acceptsText(automaton, 'a')).toBe(false)
  })

  it('are refused by name where they cannot be exact', () => {
    expect(() => compileRegex('(a)\\1')).toThrow(/back-reference \\1/)
    expect(() => compileRegex('(?<x>a)\\k<x>')).toThrow(/back-reference/)
    expect(() => compileRegex('(?<=a(?=b))c')).toThrow(/lookbehind/)
    expect(() => compileRegex('[[:alpha:]')).not.toThrow(RangeError)
    expect(() => compileRegex('\\Qfoo\\E')).toThrow(/\\Q is not ECMAScript/)
    expect(() => compileRegex('(')).toThrow(TextError)
    expect(() => compileRegex('a{1,999999999}')).toThrow(/repetition/)
  })

  it.each([
    ['optional parts in repetitions in each other', `^${'(a?'.repeat(20)}${')*'.repeat(20)}$`, 'aaa'],
    ['repetitions of repetitions', `^${'('.repeat(190)}a${')*'.repeat(190)}$`, 'aaa'],
    ['the same, at least once each', `^${'('.repeat(190)}a${')+'.repeat(190)}$`, 'aaa'],
    ['optional parts of optional parts', `^${'(a?'.repeat(60)}${')?'.repeat(60)}$`, 'aaa'],
    ['assertions in repetitions in each other', `^${'(?:\\b|a'.repeat(30)}${')*'.repeat(30)}$`, 'aaa'],
  ])('cost no more than their length says: %s', (_, source, sample) => {
    const automaton = compileRegex(source, new Fuel(50_000))
    expect(acceptsText(automaton, sample)).toBe(true)
    expect(acceptsText(automaton, `${sample}b`)).toBe(false)
  })

  it('pay for a property once in a compilation, whether this process knows it or not', () => {
    const fuel = new Fuel(1_000_000)
    compileRegex('^\\p{Script=Runic}+$', fuel)
    const first = fuel.spent
    compileRegex('^\\p{Script=Runic}{2}$', fuel)
    const again = new Fuel(1_000_000)
    compileRegex('^\\p{Script=Runic}+$', again)
    expect(fuel.spent - first).toBeLessThan(first / 2)
    expect(again.spent).toBe(first)
  })

  it.each([
    ['exponential subsets', '^(a|b)*a(a|b){40}$'],
    ['nested counts', '^(((a{1,100}b?){1,100}c?){1,100}d?){1,100}$'],
    ['overlapping counts', '(a?){200}(a{1,200}){200}b'],
    ['deep groups', `${'('.repeat(5000)}a${')'.repeat(5000)}`],
    ['a long list of optional parts', `(${'a?b?'.repeat(5000)})*`],
    ['many lookaheads', `^${'(?=.*a.{5}b)'.repeat(60)}.*$`],
    ['100 KB of letters', 'ab'.repeat(50_000)],
    ['many properties', `[${SCRIPTS.map((script) => `\\p{Script=${script}}`).join('')}]`],
    ['one property very often', `[${'\\p{L}'.repeat(2000)}]`],
    ['choices of repetitions', `^${'(x*|y*)'.repeat(60)}z$`],
    ['100 KB of alternatives', Array.from({ length: 15_000 }, (_, i) => `x${i}`).join('|')],
  ])('end in a clear refusal: %s', (_, source) => {
    // What one pattern of a schema gets.
    const fuel = new Fuel(150_000)
    expect(() => compileRegex(source, fuel)).toThrow(/too complex|nested too deeply|more than|too many/)
  })
})
