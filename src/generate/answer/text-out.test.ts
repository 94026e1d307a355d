import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { TokenLogprob } from '../../contract/index.js'
import { lookedThrough } from '../testing/looked-through.test-helper.js'
import type { Tokenizer } from '../tokenizer/tokenizer.js'
import { Needles, TextOut } from './output.js'
import { Thought } from './thought.js'

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

const bytes = (text: string) => new TextEncoder().encode(text)
const logprob = (token: string) => ({ token, logprob: -1, bytes: [], top: [] }) as unknown as TokenLogprob
const nothing = { text: '', logprobs: [], rest: '' }

test('a mark at the beginning is text like any other', () => {
  expect(new TextOut([]).push(bytes('\ufeffa')).text).toBe('\ufeffa')
})

describe('the beginning of an answer', () => {
  test('that is no talk is named, without white space, and what came behind it told', () => {
    for (const pieces of [['{"name": 1'], [' {', '\n "na', 'me": 1']]) {
      const out = new TextOut([], ['<other>', '{"name":'])
      const outputs = pieces.map((piece) => out.push(bytes(piece), logprob(piece)))
      expect(outputs.slice(0, -1)).toEqual(outputs.slice(1).map(() => nothing))
      expect(outputs.at(-1)).toEqual({ text: '', logprobs: [], found: '{"name":', rest: '1' })
      // That was the end of it.
      expect(out.flush()).toEqual(nothing)
    }
  })

  test('that only looked like it is text, as it was written, with its tokens', () => {
    const out = new TextOut([], ['<call>', '{"name":'])
    const [one, two, three] = ['a', 'b', 'c'].map(logprob)
    expect(out.push(bytes(' {'), one)).toEqual(nothing)
    expect(out.push(bytes(' "n'), two)).toEqual(nothing)
    expect(out.push(bytes('o"'), three)).toEqual({ text: ' { "no"', logprobs: [one, two, three], rest: '' })
    // Only the beginning counts.
    expect(out.push(bytes('{"name":'))).toEqual({ text: '{"name":', logprobs: [], rest: '' })
  })

  test('that came no further is text after all, once', () => {
    const out = new TextOut(['zz'], ['{"name":'])
    const token = logprob('{')
    out.push(bytes(' {'), token)
    expect(out.flush()).toEqual({ text: ' {', logprobs: [token], rest: '' })
    expect(out.flush()).toEqual(nothing)
  })
})

describe('white space at the beginning', () => {
  test('is not shown where it is trimmed, in however many pieces it comes', () => {
    for (const pieces of [['  \n a b '], [' ', '\n ', ' a b ']]) {
      const out = new TextOut([], [], true)
      const texts = pieces.map((piece) => out.push(bytes(piece)).text)
      expect(texts.join('')).toBe('a b ')
      expect(out.push(bytes(' c ')).text).toBe(' c ')
    }
    expect(new TextOut([]).push(bytes(' a')).text).toBe(' a')
  })

  test('does not count where tokens wait for their text', () => {
    const out = new TextOut(['xyz'], [], true)
    const [space, a, x, b] = ['_', 'a', 'x', 'b'].map(logprob)
    // Nothing of it was fed: the token waits for the text that comes next.
    expect(out.push(bytes('   '), space)).toEqual(nothing)
    expect(out.push(bytes('a'), a)).toEqual({ text: 'a', logprobs: [space, a], rest: '' })
    expect(out.push(bytes('xy'), x)).toEqual(nothing)
    expect(out.push(bytes('b'), b)).toEqual({ text: 'xyb', logprobs: [x, b], rest: '' })
  })

  test('is not shown either where nothing else came', () => {
    const trimmed = new TextOut([' z'], [], true)
    expect(trimmed.push(bytes(' ')).text + trimmed.flush().text).toBe('')
    const begun = new TextOut([], ['{"name":'], true)
    begun.push(bytes('  { '))
    expect(begun.flush().text).toBe('{ ')
  })
})

describe('blanks without end', () => {
  const text = new TextEncoder()

  test('are looked through once: before what may be a call', () => {
    const looks = (count: number) => {
      const out = new TextOut([], ['[{"name":'])
      return lookedThrough(() => {
        for (let i = 0; i < count; i++) out.push(text.encode(' '))
      })
    }
    expect(looks(400)).toBeLessThanOrEqual(3 * looks(200))
  })

  test('are looked through once: in a thought', () => {
    const tokenizer = { bytes: (id: number) => text.encode(id === 0 ? 'word' : ' '), idOf: () => undefined }
    const looks = (count: number) => {
      const marks = { open: '<think>', close: '</think>', gap: '' }
      const thought = new Thought(marks, tokenizer as unknown as Tokenizer, Number.POSITIVE_INFINITY)
      return lookedThrough(() => {
        for (let i = 0; i < count; i++) thought.push(i)
      })
    }
    expect(looks(2000)).toBeLessThanOrEqual(3 * looks(1000))
  })
})

describe('tokens', () => {
  test('are told with the text that they begin in, and not before', () => {
    const out = new TextOut(['stop', 'end'])
    const [a, st, e, n] = ['a', 'st', 'e', 'n'].map(logprob)
    expect(out.push(bytes('a'), a)).toEqual({ text: 'a', logprobs: [a], rest: '' })
    expect(out.push(bytes('bst'), st)).toEqual({ text: 'b', logprobs: [st], rest: '' })
    expect(out.push(bytes('e'), e)).toEqual({ text: 'st', logprobs: [], rest: '' })
    expect(out.push(bytes('n'), n)).toEqual(nothing)
    expect(out.flush()).toEqual({ text: 'en', logprobs: [e, n], rest: '' })
  })

  test('are told with their text also where it goes on after what was held back was shown', () => {
    const out = new TextOut(['stop'])
    const [st, a] = ['st', 'a'].map(logprob)
    out.push(bytes('st'), st)
    expect(out.flush()).toEqual({ text: 'st', logprobs: [st], rest: '' })
    expect(out.push(bytes('a'), a)).toEqual({ text: 'a', logprobs: [a], rest: '' })
  })

  test('of half a character wait for the other half', () => {
    const out = new TextOut([])
    const [half, other] = ['half', 'other'].map(logprob)
    expect(out.push(Uint8Array.of(0xc3), half)).toEqual(nothing)
    expect(out.push(Uint8Array.of(0xa4), other)).toEqual({ text: 'ä', logprobs: [half, other], rest: '' })
  })

  test('of the needle that ends a text are not told, nor is anything after it', () => {
    const out = new TextOut(['stop'])
    const [a, b] = ['a', 'b'].map(logprob)
    expect(out.push(bytes('ast'), a)).toEqual({ text: 'a', logprobs: [a], rest: '' })
    expect(out.push(bytes('op more'), b)).toEqual({ text: '', logprobs: [], found: 'stop', rest: ' more' })
    expect(out.flush()).toEqual(nothing)
  })
})

test('what is watched for later is looked for in what was held back, too', () => {
  const out = new TextOut(['<think>'])
  expect(out.push(bytes('a <')).text).toBe('a ')
  out.watchFor(['<end>'])
  expect(out.push(bytes('en')).text).toBe('')
  expect(out.push(bytes('d> b'))).toEqual({ text: '', logprobs: [], found: '<end>', rest: ' b' })
})
