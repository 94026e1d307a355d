/** Texts that are hard to look through: what is found in them must be right, and found in a time that their length bounds. */
import { Grounds } from '../../src/generate/sources/grounds.js'
import { SourceFinder } from '../../src/generate/sources/source-finder.js'
import { compile, type Grammar, SchemaError } from '../../src/grammar/structured.js'
import { hasStretch, isStretch } from '../../src/platform/borders.js'
import { whyNot } from './judge.js'

const filled = (unit: string, length: number): string => unit.repeat(Math.ceil(length / unit.length)).slice(0, length)

/** Of so many code units each. */
export const hostileTexts = (length: number): Readonly<Record<string, string>> => ({
  'one letter': filled('a', length),
  'one digit': filled('1', length),
  zeros: filled('0', length),
  blanks: ' '.repeat(length),
  'blanks behind a day': `12 March${' '.repeat(length)}`,
  'blanks behind a month': `March 12${' '.repeat(length)}x`,
  'blanks behind a number': `12${' '.repeat(length)}March`,
  'lines between letters': `a${'\n'.repeat(length)}b`,
  'one word': filled('the quick brown fox ', length),
  'two letters': filled('a b ', length),
  days: filled('12 March ', length),
  slashes: filled('12/3/', length),
  thousands: filled('1,000,', length),
  apostrophes: filled("1'000", length),
  decimals: `1.${'0'.repeat(length)}`,
  'numbers in blanks': filled('1\u00a0', length),
  'zero width': filled('a\u200b', length),
  'joiners only': filled('\u200d', length),
  'right to left': filled('\u05e9\u05dc\u05d5\u05dd \u202e', length),
  emoji: filled('\ud83c\udf89', length),
  'halves of characters': filled('\ud83c', length),
  'wrong halves': filled('\udf89\ud83c', length),
  marks: filled('e\u0301', length),
  quotes: filled('"\\"', length),
})

const VALUES: readonly (string | number)[] = [
  ...['a', 'aaa', 'a b', 'a  b', 'the quick brown cat', `${'a b '.repeat(49)}c`, 'a'.repeat(10_000), '1', '"', ''],
  ...[
    '2026-03-12',
    '2027-03-12',
    'e\u0301',
    'e',
    '\ud83c',
    '\udf89',
    '\ud83c\udf89',
    '\ud83c\udf89'.repeat(60),
    'a\u200b',
  ],
  ...['\u05e9\u05dc\u05d5\u05dd', '\u05e9\u05dc', '(a+)+$', '$&', '\\'],
  ...[0, 1, 11, 12, 1000, 1_000_000, 1_000_000_000, -1, 1.5, 1250.5, 1e21, 1e-7, 5e-324, 1.7976931348623157e308],
]

/** Processor time that one search may take for a megabyte; what is quadratic takes hours. */
const SECONDS = 5

export function hostileFaults(length: number): { faults: string[]; slowest: string; searches: number } {
  const faults: string[] = []
  let worst = { ms: -1, what: '' }
  let searches = 0
  for (const [name, text] of Object.entries(hostileTexts(length))) {
    const grounds = groundsOf(text)
    for (const value of VALUES) {
      searches++
      const before = process.cpuUsage()
      const source = new SourceFinder(grounds).find(value)
      const { user, system } = process.cpuUsage(before)
      const ms = (user + system) / 1000
      const what = `${JSON.stringify(value).slice(0, 30)} in ${name}`
      if (ms > worst.ms) worst = { ms, what }
      if (ms > SECONDS * 1000) faults.push(`${what}: ${ms.toFixed(0)} ms`)
      const why = source && whyNot(value, text, source.start, source.end)
      if (why) faults.push(`${what}: ${why}`)
    }
  }
  return { faults: [...faults, ...manyPlaces()], slowest: `${worst.ms.toFixed(0)} ms, ${worst.what}`, searches }
}

/** Shorter texts make no document too long. */
const LONGEST = 999_000

/** What quotes of such texts admit, alone and where more is asked of them: what stands there, and nothing else. */
export function hostileQuoteFaults(length: number): { faults: string[]; slowest: string; texts: number } {
  const faults: string[] = []
  let worst = { ms: -1, what: '' }
  const texts = Object.entries(hostileTexts(length))
  const quoted = { type: 'string', 'x-quote': true }
  for (const [name, text] of texts) {
    const stretch = text.trim()
    const ends = [stretch.slice(0, 1000), stretch.slice(-1000), stretch.slice(1, 1000), `${stretch}.`]
    const isAsked = (one: unknown) => typeof one === 'string' && !/\p{Surrogate}/u.test(one) && one.length < LONGEST
    const values = new Set([...VALUES, stretch, ...ends].filter(isAsked) as string[])
    const isQuote = (value: string) => (value === '' ? !hasStretch(text) : isStretch(text, value))
    for (const [how, schema, admits] of [
      ['', quoted, () => true],
      [', of few characters', { ...quoted, maxLength: 40 }, (value: string) => Array.from(value).length <= 40],
      [', with an a', { allOf: [quoted, { pattern: 'a' }] }, (value: string) => value.includes('a')],
    ] as const) {
      const before = process.cpuUsage()
      const grammar = compiled(schema, text)
      const wrong = [...values].filter((value) => {
        const right = admits(value) && isQuote(value)
        return right !== (grammar?.accepts(JSON.stringify(value)) ?? false)
      })
      const { user, system } = process.cpuUsage(before)
      const ms = (user + system) / 1000
      if (ms > worst.ms) worst = { ms, what: `${name}${how}` }
      if (ms > SECONDS * 1000) faults.push(`quotes of ${name}${how}: ${ms.toFixed(0)} ms`)
      for (const value of wrong) faults.push(`quotes of ${name}${how}: ${JSON.stringify(value).slice(0, 60)}`)
    }
  }
  return { faults, slowest: `${worst.ms.toFixed(0)} ms, ${worst.what}`, texts: texts.length }
}

/** Undefined where nothing fits, or nothing that is not longer than a document may be. */
function compiled(schema: unknown, text: string): Grammar | undefined {
  try {
    return compile(schema, { quote: { texts: [text] } })
  } catch (error) {
    if (error instanceof SchemaError && /no value|would be longer/.test(error.message)) return undefined
    throw error
  }
}

/** A value that stands a thousand times is found at each of them, one behind the other, and then at the first again. */
function manyPlaces(): string[] {
  const faults: string[] = []
  for (const [value, written] of [
    ['Ana', 'Ana'],
    [1250, '1.250,00'],
    ['2026-03-12', '12 March 2026'],
    ['\u05e9\u05dc\u05d5\u05dd', '\u05e9\u05dc\u05d5\u05dd'],
    ['\ud83c\udf89 x', '\ud83c\udf89 x'],
  ] as const) {
    const finder = new SourceFinder(groundsOf(`\u200b${written}; `.repeat(1000)))
    for (let i = 0; i <= 1000; i++) {
      const start = 1 + (i % 1000) * (written.length + 3)
      const found = finder.find(value)
      if (found?.start === start && found.end === start + written.length) continue
      faults.push(`${written}: the ${i + 1}th is told at ${found?.start} to ${found?.end}, it is at ${start}`)
      break
    }
  }
  return faults
}

const groundsOf = (text: string): Grounds =>
  new Grounds({ messages: [{ role: 'user', content: text }], output: { type: 'json_object' } })
