import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Needles, TextOut } from './text-out.js'

const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 24 })
const needle = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 4 })

/** The first end of any needle, and the text before that needle. */
function cut(text: string, needles: readonly string[]): string | undefined {
  for (let end = 1; end <= text.length; end++) {
    const ending = needles.filter((one) => text.slice(0, end).endsWith(one))
    if (ending.length > 0) return text.slice(0, end - Math.max(...ending.map((one) => one.length)))
  }
  return undefined
}

test('the same cut for every way to divide the text, and nothing of a needle before it', () => {
  fc.assert(
    fc.property(
      letters,
      fc.array(needle, { maxLength: 4 }),
      fc.array(fc.nat({ max: 5 }), { minLength: 1 }),
      (text, needles, sizes) => {
        const scanner = new Needles(needles)
        let shown = ''
        let found: string | undefined
        for (let at = 0, i = 0; at < text.length && found === undefined; i++) {
          const size = 1 + sizes[i % sizes.length]!
          const piece = scanner.push(text.slice(at, at + size))
          shown += piece.text
          found = piece.found
          at += size
        }
        const expected = cut(text, needles)
        expect(found === undefined).toBe(expected === undefined)
        expect(found === undefined ? shown + scanner.flush() : shown).toBe(expected ?? text)
      },
    ),
    { numRuns: 2000 },
  )
})

test('a needle that is found is named, with what came after it, and nothing is held back any more', () => {
  const scanner = new Needles(['stop', 'top', ''])
  expect(scanner.push('on s')).toEqual({ text: 'on ', rest: '' })
  expect(scanner.push('top of it st')).toEqual({ text: '', found: 'stop', rest: ' of it st' })
  expect(scanner.flush()).toBe('')
})

test('nothing is looked for where there is nothing to find', () => {
  for (const needles of [[], ['']]) {
    const scanner = new Needles(needles)
    expect(scanner.push('any')).toEqual({ text: 'any', rest: '' })
    expect(scanner.push('')).toEqual({ text: '', rest: '' })
    expect(scanner.flush()).toBe('')
  }
})

test('text from before is looked through as well, and given on once', () => {
  expect(new Needles(['abc'], 'xa').push('bcd')).toEqual({ text: 'x', found: 'abc', rest: 'd' })
  const held = new Needles([], 'a')
  expect(held.push('b')).toEqual({ text: 'ab', rest: '' })
  expect(held.push('c')).toEqual({ text: 'c', rest: '' })
  const flushed = new Needles(['abc'], 'ab')
  expect([flushed.flush(), flushed.flush()]).toEqual(['ab', ''])
})

test('text never holds half a character, whatever the bytes are divided into', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme', maxLength: 12 }),
      fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1 }),
      (text, sizes) => {
        const out = new TextOut([])
        const bytes = new TextEncoder().encode(text)
        const whole = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
        let shown = ''
        for (let at = 0, i = 0; at < bytes.length; i++) {
          const size = sizes[i % sizes.length]!
          shown += out.push(bytes.subarray(at, at + size)).text
          expect(whole.startsWith(shown)).toBe(true)
          at += size
        }
        expect(shown + out.flush().text).toBe(whole)
      },
    ),
  )
})

test('half a character at the end is dropped', () => {
  const out = new TextOut([])
  expect(out.push(Uint8Array.of(0x61, 0xf0, 0x9f)).text + out.flush().text).toBe('a')
})
