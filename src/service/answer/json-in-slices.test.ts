import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../../test/support/full.js'
import { atOnce } from '../../platform/index.js'
import { parsedInSlices } from './json-in-slices.js'

/** As it is, with the order of keys, -0 and what is an own field. */
function seen(value: unknown): unknown {
  if (Array.isArray(value)) return ['list', ...value.map(seen)]
  if (typeof value !== 'object' || value === null) return Object.is(value, -0) ? 'minus zero' : value
  const isPlain = Object.getPrototypeOf(value) === Object.prototype
  return ['object', isPlain, ...Object.getOwnPropertyNames(value).map((key) => [key, seen(value[key as never])])]
}

function outcome(parse: () => unknown): unknown {
  try {
    return seen(parse())
  } catch (error) {
    return (error as Error).constructor
  }
}

/** Cheaper than an `expect`, of which there would be thousands. */
const isSame = (text: string, piece: number): boolean =>
  isDeepStrictEqual(
    outcome(() => atOnce(parsedInSlices(text, piece))),
    outcome(() => JSON.parse(text)),
  )

/** Texts that are JSON for the most part. */
const { text: texts } = fc.letrec<{ text: string; item: string; space: string; key: string }>((tie) => ({
  space: fc.constantFrom('', '', '', ' ', '\n\t', '\r '),
  key: fc.oneof(
    fc.constantFrom('"a"', '"b"', '"__proto__"', '"7"', '"\\u0061"', '"constructor"', '"a\\\\"', '""'),
    fc.string().map((text) => JSON.stringify(text)),
  ),
  item: fc
    .tuple(
      tie('space'),
      fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom(
          '"\\ud83d"',
          '0',
          '-0',
          '1e400',
          '1.5E-3',
          '123456789012345678901',
          'true',
          'null',
          '"\\\\"',
          '"]"',
          '"\\",{"',
        ),
        tie('key'),
        fc.array(tie('item')).map((items) => `[${items.join(',')}]`),
        fc
          .array(fc.tuple(tie('space'), tie('key'), tie('space'), tie('item')))
          .map((fields) => `{${fields.map(([a, key, b, value]) => `${a}${key}${b}:${value}`).join(',')}}`),
      ),
      tie('space'),
    )
    .map((parts) => parts.join('')),
  text: tie('item'),
}))

describe('JSON that is parsed in pieces', () => {
  it('is what JSON.parse makes of it, keys that come twice and __proto__ among it', () => {
    fc.assert(fc.property(texts, fc.nat(12), isSame), { numRuns: runs(2000) })
  })

  // Not among drawn texts: of many such keys Node 26 makes other ones now and then.
  it('has halves of pairs as keys', () => {
    const text = '{"\\ud83d":[1,2,3],"a":{"\\ud83d":0,"\\ude00":[4]}}'
    for (let piece = 0; piece < text.length; piece++) {
      const halves = atOnce(parsedInSlices(text, piece))
      expect(halves).toEqual({ '\ud83d': [1, 2, 3], a: { '\ud83d': 0, '\ude00': [4] } })
    }
  })

  it('is refused where JSON.parse refuses it', () => {
    const signs = fc.constantFrom(...'[]{},:"\\ 0-1e.x\u00a0\ufeff', 'true', '""', '[]', '{}', '"a":', ',,', '')
    const spoiled = fc.tuple(texts, fc.nat(), fc.nat(3), signs).map(([text, at, gone, put]) => {
      const place = at % (text.length + 1)
      return text.slice(0, place) + put + text.slice(place + gone)
    })
    fc.assert(fc.property(spoiled, fc.nat(12), isSame), { numRuns: runs(4000) })
    const made = fc.array(signs, { maxLength: 12 }).map((parts) => parts.join(''))
    fc.assert(fc.property(made, fc.nat(3), isSame), { numRuns: runs(4000) })
  })

  it.each([
    ['a comma too many at the end', '[1,2,]'],
    ['at the beginning', '[,1,2]'],
    ['between', '[1,,2]'],
    ['behind what was long', '[[1,2,3,4],,1]'],
    ['at its end', '[[1,2,3,4],]'],
    ['no comma behind what was long', '[[1,2,3,4]1,2,3]'],
    ['nor before more of it', '[[1,2,3,4][1,2,3,4],5,6]'],
    ['a bracket of the other kind', '[[1,2,3,4},5]'],
    ['one too few', '{"a":[1,2,3,4],"b":1'],
    ['one too many', '[1,2,3,4]]'],
    ['more behind it', '[1,2,3,4] x'],
    ['before it', 'x[1,2,3,4]'],
    ['a number before a list', '{"a":1[1,2,3,4]}'],
    ['a colon too many', '{"a"::[1,2,3,4]}'],
    ['no key', '{[1,2,3,4]}'],
    ['two values', '[1 [1,2,3,4]]'],
  ])('refuses %s', (_, text) => {
    for (let piece = 0; piece < text.length; piece++) {
      expect(() => atOnce(parsedInSlices(text, piece))).toThrow(SyntaxError)
    }
  })

  it('names places of the whole text', () => {
    const text = `[${'1,'.repeat(40)}[1,2 3],4]`
    const place = text.indexOf('3')
    expect(() => atOnce(parsedInSlices(text, 10))).toThrow(`position ${place}`)
    expect(() => atOnce(parsedInSlices(`${text.replace(' 3', '')}]`, 10))).toThrow(`position ${text.length - 2}`)
  })

  it.each([
    ['many keys', JSON.stringify(Object.fromEntries(Array.from({ length: 30_000 }, (_, i) => [`k${i}`, 0])))],
    ['many objects', JSON.stringify({ a: { b: Array.from({ length: 30_000 }, (_, i) => ({ [`k${i}`]: 0 })) } })],
    ['deep ones', `${'[1,{"a":'.repeat(100)}[${'1,'.repeat(200_000)}1]${'}]'.repeat(100)}`],
  ])('pauses in %s, and gives JSON.parse no more than a piece at once', (_, text) => {
    const { parse } = JSON
    let longest = 0
    JSON.parse = (piece: string) => {
      longest = Math.max(longest, piece.length)
      return parse(piece) as unknown
    }
    let pauses = 0
    try {
      const work = parsedInSlices(text)
      for (;;) {
        const { done, value } = work.next()
        if (done) {
          expect(value).toEqual(parse(text))
          break
        }
        pauses++
      }
    } finally {
      JSON.parse = parse
    }
    expect(pauses).toBeGreaterThan(text.length / 2 ** 17)
    expect(longest).toBeLessThan(2 ** 16)
  })
})
