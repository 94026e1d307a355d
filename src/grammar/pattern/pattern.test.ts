import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../../test/support/full.js'
import { Pattern } from './pattern.js'
import { PUBLISHED } from './published.js'

const LETTERS = ['a', 'b', 'c', ' ', '\n', '1', 'é', '😀', '\u{10000}']
const atoms = fc.constantFrom(
  ...['a', 'b', 'c', ' ', '.', '\\s', '\\S', '\\d', '\\p{L}', '\\p{N}', '[ab]', '[^a]'],
  '😀',
  '(?:)',
  '^',
  '$',
  '\\b',
  '\\B',
)
const counts = fc.constantFrom('*', '+', '?', '{2}', '{1,2}', '{0,2}', '{2,}', '*?', '+?', '??', '{1,3}?', '{0}')
const patterns = fc.letrec<{ node: string }>((tie) => ({
  node: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    atoms,
    fc.tuple(tie('node'), tie('node')).map(([a, b]) => a + b),
    fc.tuple(tie('node'), tie('node')).map(([a, b]) => `(?:${a}|${b})`),
    fc.tuple(tie('node'), counts).map(([a, count]) => `(?:${a})${count}`),
    fc.tuple(fc.constantFrom('=', '!', '<=', '<!'), tie('node')).map(([kind, a]) => `(?${kind}${a})`),
  ),
})).node
const texts = fc.array(fc.constantFrom(...LETTERS), { maxLength: 12 }).map((letters) => letters.join(''))

const spans = (pattern: RegExp | Pattern, text: string) =>
  Array.from(text.matchAll(pattern as RegExp), (match) => [match.index, match.index + match[0].length])

/** What a pattern finds, by the standard's own loop over characters. */
function defined(sticky: RegExp, text: string): number[][] {
  const found: number[][] = []
  for (let at = 0; at <= text.length; ) {
    sticky.lastIndex = at
    const match = sticky.exec(text)
    if (match !== null) found.push([at, at + match[0].length])
    at += match !== null && match[0] !== '' ? match[0].length : (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1
  }
  return found
}

describe('what is found is what RegExp finds', () => {
  it('of any pattern in any text', () => {
    let compared = 0
    fc.assert(
      fc.property(patterns, fc.array(texts, { minLength: 5, maxLength: 5 }), (source, all) => {
        const native = new RegExp(source, 'gu')
        const sticky = new RegExp(source, 'uy')
        let pattern: Pattern
        try {
          pattern = new Pattern(source)
        } catch (error) {
          expect(String(error)).toMatch(/a lookahead within a lookbehind|more than 4 different lookbehinds|states/)
          return
        }
        for (const text of all) {
          compared++
          expect(spans(pattern, text)).toEqual(defined(sticky, text))
          // V8 finds what is empty within a character too.
          if (/[^\0-\uffff]/u.test(text)) continue
          expect(spans(pattern, text)).toEqual(spans(native, text))
          expect(text.split(pattern as unknown as RegExp)).toEqual(text.split(native))
          expect(text.match(pattern as unknown as RegExp)).toEqual(text.match(native))
          expect(text.replaceAll(pattern as unknown as RegExp, '-')).toBe(text.replaceAll(native, '-'))
        }
      }),
      { numRuns: runs(400, 4) },
    )
    expect(compared).toBeGreaterThan(2 * runs(400, 4))
  })

  it.each(Object.entries(PUBLISHED))('of published patterns in texts of many scripts: %s', (_, sources) => {
    const units = fc.oneof(
      fc.constantFrom(
        ...["don't", "WE'LL", ' the', '  ', '\r\n', '\t', '12345', 'Ünïcode', '日本語', '😀👍🏽', 'é', '...', '/*'],
      ),
      fc.string({ unit: 'grapheme', maxLength: 6 }),
    )
    const prose = fc.array(units, { maxLength: 20 }).map((parts) => parts.join(''))
    for (const source of sources) {
      const pattern = new Pattern(source)
      fc.assert(
        fc.property(prose, (text) => {
          expect(spans(pattern, text)).toEqual(spans(new RegExp(source, 'gu'), text))
        }),
        { numRuns: runs(50) },
      )
    }
  })

  it('across windows, with characters of two units at their edges', () => {
    for (const shift of ['', 'a', 'ab']) {
      const text = shift + `${'😀'.repeat(2047)}a b`.repeat(6)
      for (const source of ['(?<=😀)a|b', '[^ ]+', '\\p{L}', '(?=a)(?:(?<![\\s\\S]))?', '😀+?']) {
        expect(spans(new Pattern(source), text)).toEqual(defined(new RegExp(source, 'uy'), text))
      }
    }
  })
})

describe('its time grows with the text alone', () => {
  /** Places looked at for what an engine that goes back would never come to the end of. */
  it.each([
    '(a+)+$',
    '(?:a*)*b',
    '(a|aa)+$',
    '((a+)b?)*c',
    '(x(a|b)+)+',
    '(?:a{1,9})+!',
    '(?=(a+)+b)a',
    '(?<=(a+)+b)c',
    'a*b|a',
  ])('%s', (source) => {
    const text = 'a'.repeat(200_000)
    const first = [...text.matchAll(new Pattern(source) as unknown as RegExp)][0]
    if (source === 'a*b|a') expect(first?.[0]).toBe('a')
    else if (source.endsWith('$')) expect(first?.[0]).toBe(text)
    else expect(first).toBeUndefined()
  })

  it('pauses within a long text', () => {
    const found = [...new Pattern('b').find('a'.repeat(100_000))]
    expect(found.filter((each) => each === undefined).length).toBeGreaterThan(20)
  })
})
