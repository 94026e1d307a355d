import { describe, expect, it } from 'vitest'
import { Grounds } from './grounds.js'
import { SourceFinder } from './source-finder.js'

const finder = (...texts: string[]) =>
  new SourceFinder(
    new Grounds({
      messages: texts.map((content) => ({ role: 'user', content })),
      output: { type: 'json_object' },
    }),
  )

const slice = (text: string, value: string | number): string | undefined => {
  const found = finder(text).find(value)
  return found && text.slice(found.start, found.end)
}

describe('what a text says of a value', () => {
  it.each([
    ['a total of 1,250.00 EUR', 1250, '1,250.00'],
    ['insgesamt 1.250,50 €', 1250.5, '1.250,50'],
    ['1 250 000 places', 1250000, '1 250 000'],
    ['from 12 to 5kg', 5, '5'],
    ['it was -3 then 3', 3, '3'],
    ['it was −3', -3, '−3'],
    ['on 12 March', '2026-03-12', '12 March'],
    ['on March 12th, 2026 at', '2026-03-12', 'March 12th, 2026'],
    ['January 25\n2020-08-09', '1990-01-25', 'January 25'],
    ['am 12. März 2026', '2026-03-12', '12. März 2026'],
    ['le 1er février 2026', '2026-02-01', '1er février 2026'],
    ['12/03/2026', '2026-03-12', '12/03/2026'],
    ['DR. JANE\n  DOE said', 'Dr. Jane Doe', 'DR. JANE\n  DOE'],
    ['שלום עולם', 'עולם', 'עולם'],
    ['so 🎉 it is', '🎉 it', '🎉 it'],
    ['合計3500円12個', 3500, '3500'],
    ['合計3500円12個', 12, '12'],
    ['المجموع ١٬٢٥٠٫٧٥ ريال', 1250.75, '١٬٢٥٠٫٧٥'],
    ['कुल १२,३४,५६७.५०', 1234567.5, '१२,३४,५६७.५०'],
    ['合計３，５００円 ３５００円', 3500, '３５００'],
    ['จำนวน๑๒ชิ้น', 12, '๑๒'],
  ])('%s: %s', (text, value, wanted) => expect(slice(text, value)).toBe(wanted))

  it.each([
    ['15 and 5.7 and 1,500', 5],
    ['1250.5', 1250],
    ['the cathedral', 'the cat'],
    ['42', '2042-01-01'],
    ['anything', ''],
    ['a — b', '—'],
    ['2026-13-12', '2026-03-12'],
    ["12 March '25", '2026-03-12'],
    ['4\u0301 and \u03014.0, 4.0\u0301', 4],
    ['12 March 2027, March 12th, 2025', '2026-03-12'],
    ['12 out of 20', '2026-10-12'],
    ['予算3500万円', 3500],
    ['1:250, 1/250, 1-250, 1;250', 1250],
    ['3만 원', 3],
    ['١٬٢٥٠', 250],
    ['A12', 12],
  ])('%s says nothing of %s', (text, value) => expect(slice(text, value)).toBe(undefined))
})

it.each([
  ['1,250 then 1250', 1250, 11],
  ['a 5,0 b 5', 5, 8],
  ['5,0 b 5 b', 5, 6],
  ['k2: 5,0 b 5', 5, 10],
  ['5,0 and 5 2', 5, 8],
  ['x5 \u03015 3.5 5', 5, 10],
  ['5kg2 5.1 5\u0301 5', 5, 12],
  ['5kg2, 5', 5, 6],
])('of %s, what says %s as it is comes before other forms of it, and as a whole', (text, value, start) =>
  expect(finder(text).find(value)).toMatchObject({ start, end: start + String(value).length }),
)

it('says nothing of true, false and null', () => {
  const one = finder('true, false, null')
  for (const value of [true, false, null]) expect(one.find(value)).toBe(undefined)
})

/** Of its letters in other forms nothing is looked for. */
const LONG = Array.from({ length: 60 }, (_, i) => `w${i}`).join(' ')

it.each([
  [LONG, 0],
  [`x${LONG} ${LONG}`, LONG.length + 2],
  [`${LONG}x ${LONG}`, LONG.length + 2],
])('finds what is long as it is: %#', (text, start) =>
  expect(finder(text).find(` ${LONG} `)).toMatchObject({ start, end: start + LONG.length }),
)

it('looks no further where a text begins within words ten thousand times', () => {
  const within = (times: number) => `${`x${LONG} `.repeat(times)}${LONG}`
  expect(finder(within(9999)).find(LONG)).toBeDefined()
  expect(finder(within(10_000)).find(LONG)).toBe(undefined)
})

it('of several places it is the first behind the one before, else the first; of several texts the latest', () => {
  const one = finder('A 1, B 1, C 1')
  const starts = ['A', 1, 'B', 1, 'A', 1].map((value) => one.find(value)!.start)
  expect(starts).toEqual([0, 2, 5, 7, 0, 2])
  expect(finder('x 7', 'y 7').find(7)).toMatchObject({ message: 1, start: 2 })
})

it('takes no longer than its text is long, whatever stands in it', () => {
  const million = 2 ** 20
  const letters = 'a'.repeat(million)
  for (const value of ['a', 'aaa', 'a'.repeat(10_000), `${'a'.repeat(10_000)}b`, `b${'a'.repeat(10_000)}`, 1]) {
    expect(finder(letters).find(value)).toBe(undefined)
  }
  // Blanks may be read in one way only, or a long one is read as often as it is long.
  for (const text of [`12 March${' '.repeat(million)}x`, `March 12${' '.repeat(million)}x`]) {
    expect(finder(text).find('2026-03-12')!.end).toBe(8)
  }
  const pairs = 'ab '.repeat(million / 3)
  expect(finder(pairs).find(`${'ab '.repeat(3000)}a`)).toBe(undefined)
  const many = finder('x 1 '.repeat(1000))
  for (let i = 0; i < 1000; i++) expect(many.find(1)!.start).toBe(4 * i + 2)
})

it('a quote is found in what users say, whatever the value before it was found in', () => {
  const messages = [
    { role: 'system', content: 'Open or shut: the door.' },
    { role: 'user', content: 'I shut it, the door.' },
  ] as const
  const schema = { type: 'object' }
  const output = { type: 'json_schema', name: 'x', strict: true, schema, quote: true } as const
  const sources = new SourceFinder(new Grounds({ messages, output }))
  expect(sources.find('Open')).toMatchObject({ message: 0, start: 0 })
  expect(sources.find('the door')).toEqual({ message: 1, part: 0, start: 11, end: 19 })
})

it('a quote may be a sign alone, and goes on behind the one before it', () => {
  const messages = [{ role: 'user', content: 'A — B — A...' }] as const
  const output = { type: 'json_schema', name: 'x', strict: true, schema: {}, quote: true } as const
  const sources = new SourceFinder(new Grounds({ messages, output }))
  const starts = ['A', '—', 'B', '—', 'A'].map((value) => sources.find(value)?.start)
  expect(starts).toEqual([0, 2, 4, 6, 8])
  expect(sources.find('')).toBe(undefined)
})

it('what the schema alone says is a quote is found as one', () => {
  const messages = [
    { role: 'system', content: 'Open or shut: the door — now.' },
    { role: 'user', content: 'I shut — the door.' },
  ] as const
  const quote = { type: 'string', 'x-quote': true }
  const properties = {
    state: { enum: ['Open', 'Shut', '—'] },
    what: { anyOf: [quote, { type: 'null' }] },
    list: { type: 'array', items: { $ref: '#/$defs/quote' } },
  }
  const schema = { type: 'object', properties, $defs: { quote } }
  const grounds = new Grounds({ messages, output: { type: 'json_schema', name: 'x', strict: true, schema } })
  const sources = new SourceFinder(grounds)
  const find = (value: string, pointer: string) => sources.find(value, grounds.isQuote(pointer))
  expect(find('Open', '/state')).toMatchObject({ message: 0, start: 0 })
  expect(find('—', '/state')).toBe(undefined)
  expect(find('the door', '/what')).toEqual({ message: 1, part: 0, start: 9, end: 17 })
  expect(find('—', '/list/0')).toEqual({ message: 1, part: 0, start: 7, end: 8 })
})
