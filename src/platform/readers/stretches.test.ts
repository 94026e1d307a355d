import fc from 'fast-check'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { runs } from '../../../test/support/full.js'
import { mayBegin, mayEnd } from '../borders.js'
import { atOnce } from '../turns.js'
import { CASES, REFERENCE } from './cases.test-helper.js'
import { type LanguageName, type ReadableKind, readValue, stretchesIn } from './index.js'
import { LANGUAGES } from './words/index.js'

const KINDS: readonly ReadableKind[] = ['number', 'date', 'time', 'datetime', 'duration']
const found = (kind: ReadableKind, text: string, language?: LanguageName) =>
  atOnce(stretchesIn(kind, text, { reference: REFERENCE, ...(language && { language }) })).map(({ start, end }) =>
    text.slice(start, end),
  )

describe('what can be read is found in a sentence', () => {
  for (const { kind, language, text, value } of CASES) {
    if (value === null) continue
    it(`${language} ${kind}: ${text}`, () => {
      const spans = found(kind, `(xx) ${text}; zz.`, language)
      const context = { reference: REFERENCE, language, around: text }
      expect(spans.map((one) => readValue({ type: kind }, one, context).value)).toContain(value)
    })
  }
})

it.each([
  ['Total:\n12\n345\n7', ['12', '345', '7']],
  ['lamps\t12\t345', ['12', '345']],
  ['lamps   12   345\r\n678', ['12', '345', '678']],
  ['lamps １２\r\n３４５', ['１２', '３４５']],
  ['1 250 of 12\u202f345\u00a0678', ['1 250', '12\u202f345\u00a0678']],
  ['10⁻³', []],
])('takes no two lines or cells for one number: %j', (text, numbers) => {
  expect(found('number', text)).toEqual(numbers)
})

it('reads over the places where a word may be parted', () => {
  for (const [kind, text, value] of [
    ['number', 'drei\u00adund\u00adzwanzig', 23],
    ['number', '1.234\u00ad,50', 1234.5],
    ['date', '4. De\u00adzem\u00adber 2026', '2026-12-04'],
  ] as const) {
    expect(found(kind, `am ${text} und`, 'de')).toEqual([text])
    expect(readValue({ type: kind }, text, { language: 'de' }).value).toBe(value)
  }
  // What is raised is another number.
  expect(readValue({ type: 'number' }, '10⁻³').value).toBe(null)
})

it('finds a value wherever it stands in a long text, and pauses on the way', () => {
  const VALUES = [
    ['date', 'Wednesday, 4 March 2026'],
    ['datetime', '4 March 2026 at 15:30'],
    ['duration', '2 hours and 30 minutes'],
    ['number', '1,250.00'],
    ['time', '15:30'],
  ] as const
  fc.assert(
    fc.property(fc.nat(12_000), fc.constantFrom(...VALUES), (at, [kind, value]) => {
      const text = `${'the cat '.repeat(1500).slice(0, at)} ${value} ${'the dog '.repeat(1500).slice(at)}`
      const work = stretchesIn(kind, text, {})
      let pauses = 0
      for (;;) {
        const { done, value: stretches } = work.next()
        if (done) {
          expect(stretches.map(({ start, end }) => text.slice(start, end))).toEqual([value])
          break
        }
        pauses++
      }
      expect(pauses).toBeGreaterThanOrEqual(12)
    }),
    { numRuns: 40 },
  )
})

describe('a text of numbers alone', () => {
  afterEach(() => vi.restoreAllMocks())
  const numbers = (count: number) => '5 '.repeat(count)

  /** Through how many characters is sought what ends right before a value, and through how many values others. */
  function looked(kind: ReadableKind, text: string) {
    let looks = 0
    const { exec } = RegExp.prototype
    vi.spyOn(RegExp.prototype, 'exec').mockImplementation(function (this: RegExp, text) {
      if (this.source.endsWith('$') && !this.source.startsWith('^')) looks += text.length
      return exec.call(this, text)
    })
    const { some } = Array.prototype
    vi.spyOn(Array.prototype, 'some').mockImplementation(function (this: unknown[], ...given) {
      looks += this.length
      return some.apply(this, given)
    })
    found(kind, text)
    vi.restoreAllMocks()
    return looks
  }

  it.each(KINDS)(
    'is looked through for a %s from each of them as far as one may reach, in one part of it too',
    (kind) => {
      const one = kind.endsWith('time') ? '5:30 ' : '5 '
      const half = one.repeat(480 / one.length)
      const whole = looked(kind, half + half)
      expect(whole).toBeGreaterThan(0)
      expect(whole).toBeLessThan(3 * looked(kind, half))
    },
  )

  it('is read once in each language, of whatever kind is looked for', () => {
    const looks = vi.spyOn(String.prototype, 'matchAll')
    found('date', numbers(400))
    const times = new Map<unknown, number>()
    for (const [pattern] of looks.mock.calls) times.set(pattern, (times.get(pattern) ?? 0) + 1)
    expect(Math.max(...times.values())).toBe(Object.keys(LANGUAGES).length)
  })

  it('is put in order part by part: all languages together would be too much without a pause', () => {
    const sorted = vi.spyOn(Array.prototype, 'sort')
    expect(found('number', numbers(4000))).toHaveLength(4000)
    expect(Math.max(...sorted.mock.contexts.map((all) => (all as unknown[]).length))).toBeLessThan(2 * 4000)
  })
})

it('takes the words that say which day, and neighbours that say one thing', () => {
  expect(found('date', 'Meet Anna next Tuesday or in 3 days.')).toEqual(['next Tuesday', 'in 3 days'])
  expect(found('date', 'am kommenden Freitag und vor zwei Tagen', 'de')).toEqual([
    'kommenden Freitag',
    'vor zwei Tagen',
  ])
  expect(found('date', 'Monday, 4 March 2026 and Tuesday')).toEqual(['Monday, 4 March 2026', 'Tuesday'])
  expect(found('datetime', 'le 4 décembre 2026 à 18h30.', 'fr')).toEqual(['4 décembre 2026 à 18h30'])
  expect(found('duration', '1 hour and 30 minutes, or 3 days')).toEqual(['1 hour and 30 minutes', '3 days'])
  expect(found('time', 'Until 12:15 AM, or 3 p.m.')).toEqual(['12:15 AM', '3 p.m'])
  expect(found('number', '120g at 3 (or 4)', 'en')).toEqual(['120g', '3', '4'])
  expect(found('number', '7.5 100.5 101.5, or 12 345', 'en')).toEqual(['7.5', '100.5', '101.5', '12 345'])
  // Half a word is none, and no other language is asked where one has found something.
  expect(found('number', 'once, and of 2 of the cats', 'en')).toEqual(['2'])
})

it('are stretches in the order of the text, none within another, whatever it is', () => {
  const bits = fc.constantFrom(
    ...['1', '12', '2026', '.', ',', ' ', '-', '/', ':', 'march', 'März', 'next', 'monday', 'ago', 'in', 'h', 'and'],
    ...['½', 'ß', 'ﬁ', 'İ', '①', '\u0301', '(', 'pm', '\u202e', '\ud800', '😀', '２０２６', '\n', 'vingt', '1 hour '],
  )
  const text = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 60 }),
    fc.array(bits, { maxLength: 80 }).map((all) => all.join('')),
  )
  fc.assert(
    fc.property(text, fc.constantFrom(...KINDS), (input, kind) => {
      let last = 0
      for (const { start, end } of atOnce(stretchesIn(kind, input, { reference: REFERENCE }))) {
        expect(mayBegin(input, start) && mayEnd(input, end)).toBe(true)
        expect(end).toBeGreaterThan(Math.max(start, last))
        last = end
      }
    }),
    { numRuns: runs(1000) },
  )
})

it('what is long to compile is asked once a slice before a reading asks all of it, in every language', async () => {
  vi.resetModules()
  const fresh = await import('./index.js')
  const spy = vi.spyOn(RegExp.prototype, 'test')
  onTestFinished(() => spy.mockRestore())
  const contexts = spy.mock.contexts as readonly RegExp[]
  const longSince = (begun: number) => new Set(contexts.slice(begun).filter(({ source }) => source.length > 3000))
  const known = new Set<RegExp>()
  const slices = fresh.stretchesIn('number', '15 '.repeat(20), {})
  for (let done: boolean | undefined = false; !done; ) {
    const begun = contexts.length
    done = slices.next().done
    const news = [...longSince(begun)].filter((one) => !known.has(one))
    expect(news.length).toBeLessThan(2)
    for (const one of news) known.add(one)
  }
  const begun = contexts.length
  fresh.readValue({ type: 'number' }, '15', { beside: { before: 'between 10 and ', behind: ' and 20' } })
  const asked = [...longSince(begun)]
  expect(asked.length).toBeGreaterThan(Object.keys(LANGUAGES).length)
  expect(asked.filter((one) => !known.has(one))).toEqual([])
})
