import { expect, it } from 'vitest'
import { atOnce } from '../../platform/index.js'
import { BEGINNINGS, digitsFor, Guard, guarded, sentinelFor } from './guard.js'

const SENTINEL = '\ufdef'
const all = guarded(['<|end|>', 'x'], ['<|end|>', '<think>', '<|end|>!'])
const guard = (digits?: string) => new Guard(SENTINEL, all, digits)

it('parts control tokens, and those that are added in texts that are not trusted', () => {
  const one = guard()
  const text = 'a <|end|> <think> x <|end|>!'
  expect(one.protect(text, true)).toBe(`a <${SENTINEL}|end|> <think> x <${SENTINEL}|end|>!`)
  expect(one.protect(text, false)).toBe(`a <${SENTINEL}|end|> <${SENTINEL}think> x <${SENTINEL}|end|>!`)
  expect(one.reveal(one.protect(text, false))).toBe(text)
  expect(new Guard(SENTINEL, guarded([], ['x'])).protect('undefined x', false)).toBe('undefined x')
})

it('parts each of those that overlap', () => {
  const tokens = ['</a>', '><b', 'a><b>', '<>', '\u{1f600}!', '![x]']
  const one = new Guard(SENTINEL, guarded(tokens, tokens))
  for (const text of ['</a><b>', '<<>>', '\u{1f600}![x]']) {
    const parted = one.protect(text, true)
    for (const token of tokens) expect(parted).not.toContain(token)
    expect(one.reveal(parted)).toBe(text)
  }
})

it('parts them between letters, so that JSON has them as they are', () => {
  const one = new Guard(SENTINEL, guarded(['\u{1d54f}end', '\u{1f600}!', '\u{1f600}'], []))
  for (const text of ['a \u{1d54f}end', '\u{1d54f}\u{1d54f}end']) {
    const parted = one.protect(text, true)
    expect(parted).not.toContain('\u{1d54f}end')
    expect(one.reveal(JSON.stringify(parted))).toBe(JSON.stringify(text))
  }
  // One that is a single letter is parted all the same.
  for (const text of ['\u{1f600}', '\u{1f600}!']) expect(one.protect(text, true)).not.toContain('\u{1f600}')
})

it('parts any number of them, whatever they begin with', () => {
  const tokens = Array.from({ length: 100_000 }, (_, i) => `${String.fromCharCode(0x4e00 + (i % 20_000))}-${i}`)
  const one = new Guard(SENTINEL, guarded(tokens, []))
  const [first, last] = [tokens[0]!, tokens.at(-1)!]
  expect(one.protect(`${last} ${first}`, true)).toBe(
    [last, first].map((token) => token[0] + SENTINEL + token.slice(1)).join(' '),
  )
})

it('parts them in every text of a JSON value', () => {
  const value = { '<think>': ['<|end|>', 5, null, true, { a: '<think>' }] }
  const there = guard().protectAll(value)
  expect(JSON.stringify(there)).toBe(
    JSON.stringify(value).replaceAll('<|', `<${SENTINEL}|`).replaceAll('<think', `<${SENTINEL}think`),
  )
})

it('marks places as no text is', () => {
  const one = guard()
  expect(one.mark(3)).toBe(`${SENTINEL}${SENTINEL}3${SENTINEL}`)
  expect(one.reveal(one.mark(3))).toBe('3')
})

const LONG = ['9007199254740993', '-12345678901234567890', '123456789012345678901234567890']
const HELD = ['9007199254740991', '-9007199254740991', '0.12345678901234567890', '1e400', '12345678901234567890.5', '5']
const POWERS = ['12345678901234567890e5', '12345678901234567890E-15', '-12345678901234567890e+15']

it('holds whole numbers that a double does not, and has them again as they were', () => {
  const one = guard(BEGINNINGS[0])
  const json = `{"a":[${LONG}],"b":[${HELD}],"${LONG[0]}":"\\"${LONG[0]}\\\\","c":${LONG[0]}}`
  const held = one.holdNumbers(json)
  for (const number of HELD) expect(held).toContain(number)
  const { a, c, ...rest } = JSON.parse(held)
  expect(rest[LONG[0]!]).toBe(`"${LONG[0]}\\`)
  for (const number of [...a, c]) expect(Number.isSafeInteger(number)).toBe(true)
  expect(new Set([...a, c]).size).toBe(4)
  // As a template writes them, which reads JSON.
  expect(one.reveal(JSON.stringify(JSON.parse(`[${a},${c}]`)))).toBe(`[${[...LONG, LONG[0]]}]`)
  expect(one.reveal(held)).toBe(json)
  for (const other of [...POWERS, `"a ${LONG[0]}"`, `"\\"a ${LONG[0]}"`]) expect(one.holdNumbers(other)).toBe(other)
  // None of those: it is of the text.
  expect(one.reveal(`${BEGINNINGS[0]}999999`)).toBe(`${BEGINNINGS[0]}999999`)
})

it('leaves JSON alone where nothing is to be held', () => {
  expect(guard().holdNumbers(LONG[0]!)).toBe(LONG[0])
  const one = guard(BEGINNINGS[0])
  expect(one.holdNumbers('[1,2]')).toBe('[1,2]')
  expect(one.reveal(`${BEGINNINGS[0]}000000`)).toBe(`${BEGINNINGS[0]}000000`)
  expect(one.holdNumbers(`"${LONG[0]}`)).toBe(`"${LONG[0]}`)
})

it('begins them as no text of the conversation does, if any is needed', () => {
  expect(atOnce(digitsFor(['{"a":123456789012345}'], ['']))).toBeUndefined()
  expect(atOnce(digitsFor(['{}', `{"a":${LONG[0]}}`, '{}'], ['a']))).toBe(BEGINNINGS[0])
  const texts = [`a${BEGINNINGS[0]}b`, BEGINNINGS[1]!]
  expect(atOnce(digitsFor([LONG[0]!], texts))).toBe(BEGINNINGS[2])
  expect(atOnce(digitsFor([LONG[0]!], BEGINNINGS))).toBeUndefined()
  for (const digits of BEGINNINGS) expect(Number.isSafeInteger(Number(`${digits}999999`))).toBe(true)
})

it('parts by a character that none of the texts has', () => {
  const of = (...codes: number[]) => String.fromCharCode(...codes)
  const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i)
  expect(atOnce(sentinelFor(['a']))).toBe(of(0xfdef))
  expect(atOnce(sentinelFor(['a', of(0xfdef)]))).toBe(of(0xfdee))
  const used = of(...range(0xfdd0, 0xfdef))
  expect(atOnce(sentinelFor([used.slice(1)]))).toBe(of(0xfdd0))
  expect(atOnce(sentinelFor([used]))).toBe(of(0xf8ff))
  expect(atOnce(sentinelFor([used, of(...range(0xe001, 0xf8ff))]))).toBe(of(0xe000))
  expect(() => atOnce(sentinelFor([used, of(...range(0xe000, 0xf8ff))]))).toThrow(RangeError)
})

it('lets others work while it looks through long texts', () => {
  const long = Array.from({ length: 16 }, () => 'a'.repeat(2 ** 17))
  expect([...sentinelFor(long)].length).toBeGreaterThanOrEqual(8)
  expect([...digitsFor([LONG[0]!], long)].length).toBeGreaterThanOrEqual(8)
  expect([...sentinelFor(['a', 'b'])]).toEqual([])
  expect([...digitsFor([LONG[0]!], ['a', 'b'])]).toEqual([])
})
