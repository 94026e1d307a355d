import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../../test/support/full.js'
import { CASES, REFERENCE } from './cases.test-helper.js'
import { type LanguageName, readValue } from './index.js'

const LOCALES = [
  ['en', 'en-US'],
  ['en', 'en-GB'],
  ['de', 'de-DE'],
  ['de', 'de-AT'],
  ['fr', 'fr-FR'],
  ['es', 'es-ES'],
  ['es', 'es-MX'],
  ['it', 'it-IT'],
  ['pt', 'pt-BR'],
  ['pt', 'pt-PT'],
  ['nl', 'nl-NL'],
] as const
const someDay = fc.integer({ min: 0, max: 47_000 }).map((day) => new Date(day * 86_400_000))
const iso = (date: Date) => date.toISOString().slice(0, 10)

describe('what people write', () => {
  for (const { kind, language, text, value } of CASES) {
    it(`${language} ${kind}: ${text}`, () => {
      expect(readValue({ type: kind }, text, { reference: REFERENCE, language }).value).toBe(value)
      // Known, it is read alike beside everything else that is known.
      if (value !== null) {
        expect(readValue({ type: kind }, ` ${text}. `, { reference: REFERENCE, language, around: text }).value).toBe(
          value,
        )
      }
    })
  }
})

describe('what the runtime itself writes in each language is read back', () => {
  for (const [language, locale] of LOCALES) {
    it(`dates, ${locale}`, () => {
      for (const dateStyle of ['full', 'long', 'medium', 'short'] as const) {
        const format = new Intl.DateTimeFormat(locale, { dateStyle, timeZone: 'UTC' })
        fc.assert(
          fc.property(someDay, (date) => {
            const reading = readValue({ type: 'date' }, format.format(date), { reference: iso(date), language, locale })
            expect([format.format(date), reading.value]).toEqual([format.format(date), iso(date)])
          }),
          { numRuns: runs(300) },
        )
      }
    })

    it(`moments, ${locale}`, () => {
      const format = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'medium', timeZone: 'UTC' })
      fc.assert(
        fc.property(someDay, fc.integer({ min: 0, max: 86_399 }), (day, seconds) => {
          const date = new Date(day.getTime() + seconds * 1000)
          const reading = readValue({ type: 'datetime' }, format.format(date), { language, locale })
          expect([format.format(date), reading.value]).toEqual([format.format(date), date.toISOString().slice(0, 19)])
        }),
      )
    })

    it(`days from today, ${locale}`, () => {
      for (const numeric of ['always', 'auto'] as const) {
        const format = new Intl.RelativeTimeFormat(locale, { numeric })
        fc.assert(
          fc.property(someDay, fc.integer({ min: -400, max: 400 }), (today, days) => {
            const text = format.format(days, 'day')
            const reading = readValue({ type: 'date' }, text, { reference: iso(today), language })
            expect([text, reading.value]).toEqual([text, iso(new Date(today.getTime() + days * 86_400_000))])
          }),
        )
      }
    })

    it(`numbers, ${locale}`, () => {
      const format = new Intl.NumberFormat(locale, { maximumFractionDigits: 3 })
      fc.assert(
        fc.property(
          fc.integer({ min: -1_000_000_000, max: 1_000_000_000 }),
          fc.integer({ min: 0, max: 3 }),
          (n, places) => {
            const value = Number(`${n}e-${places}`)
            const reading = readValue({ type: 'number' }, format.format(value), { language, locale })
            expect([format.format(value), reading.value]).toEqual([format.format(value), value])
          },
        ),
      )
    })

    it(`money, ${locale}`, () => {
      for (const currency of ['EUR', 'USD']) {
        const format = new Intl.NumberFormat(locale, { style: 'currency', currency })
        fc.assert(
          fc.property(fc.integer({ min: -100_000_000, max: 100_000_000 }), (cents) => {
            const value = Number(`${cents}e-2`)
            const wanted = { type: 'number', unit: currency, decimals: 2 } as const
            const reading = readValue(wanted, format.format(value), { language, locale })
            expect([format.format(value), reading.value]).toEqual([format.format(value), value])
          }),
        )
      }
    })
  }
})

describe('what does not say one thing', () => {
  const read = (text: string, context = {}) => readValue({ type: 'date' }, text, { language: 'en', ...context })

  it('is null with a guess, and decided by what is known', () => {
    expect(read('03/04/2026')).toEqual({ value: null, guess: '2026-04-03' })
    expect(read('03/04/2026', { locale: 'en-US' }).value).toBe('2026-03-04')
    expect(read('03/04/2026', { locale: 'en-GB' }).value).toBe('2026-04-03')
    expect(read('03/04/2026', { around: 'From 03/04/2026 to 03/31/2026.' }).value).toBe('2026-03-04')
    expect(read('03/04/2026', { around: 'From 03/04/2026 to 31/04/2026.' }).value).toBe('2026-04-03')
    expect(read('03/04/2026', { around: '31/12/2026 or 12/31/2026' }).value).toBeNull()
  })

  it('is null without a guess where nothing tells the year', () => {
    expect(read('March 3')).toEqual({ value: null })
    expect(read('tomorrow')).toEqual({ value: null })
    expect(read('31.12.26')).toEqual({ value: null })
    expect(read('30 February 2026')).toEqual({ value: null })
  })

  it('is a guess where a date is only what days are counted from', () => {
    expect(read('3 days after 4 March 2026')).toEqual({ value: null, guess: '2026-03-04' })
    expect(read('March 3-5, 2026')).toEqual({ value: null, guess: '2026-03-03' })
    expect(read('March 3, 2026 - 5 pm').value).toBe('2026-03-03')
  })

  it('is a date of the month of another language too, where the languages agree', () => {
    const none = (text: string) => readValue({ type: 'date' }, text, { reference: REFERENCE }).value
    expect(none('4 décembre 2026')).toBe('2026-12-04')
    expect(none('4 de marzo de 2026')).toBe('2026-03-04')
    expect(readValue({ type: 'date' }, '4. März 2026', { language: 'en' }).value).toBe('2026-03-04')
  })

  it('takes three digits behind a mark by what stands around', () => {
    const number = (text: string, around?: string) => readValue({ type: 'number' }, text, { around })
    expect(number('1.250').value).toBeNull()
    expect([1250, 1.25]).toContain(number('1.250').guess)
    expect(number('1.250', 'Der Preis der Ware ist 1.250 und der Rabatt ist klein.').value).toBe(1250)
    expect(number('1.250', 'The length of the bar is 1.250 and the width is less.').value).toBe(1.25)
    expect(number('1.250', 'Total: $1.250, tax: $250.50').value).toBe(1.25)
  })
})

describe('units', () => {
  const read = (text: string, unit: string, rest = {}) =>
    readValue({ type: 'number', unit, ...rest }, text, { language: 'en' })

  it('are told in the one that is asked for', () => {
    expect(read('2.5 t', 'kg')).toEqual({ value: 2500 })
    expect(read('500 g', 'kg')).toEqual({ value: 0.5 })
    expect(read('6 ft', 'm')).toEqual({ value: 1.8288 })
    expect(read('12 pallets', 'pallets')).toEqual({ value: 12 })
  })

  it('are not changed into what they are not', () => {
    expect(read('€1,250.00', 'USD')).toEqual({ value: null, guess: 1250 })
    expect(read('5 kg', 'm')).toEqual({ value: null, guess: 5 })
  })

  it('are not taken for the one that is asked for, if another one is said', () => {
    for (const [text, unit, guess] of [
      ['C$5', 'USD', 5],
      ['A$5', 'USD', 5],
      ['¥5', 'USD', 5],
      ['100 SEK', 'EUR', 100],
      ['50 cents', 'USD', 50],
      ['500 MB', 'GB', 500],
      ['68 °F', 'C', 68],
      ['68°F', '°C', 68],
      ['2 gallons', 'l', 2],
      ['5 pour cent', 'kg', 5],
      ['5 tbsp', 'ml', 5],
      ['50 m²', 'm', 50],
      ['100 pesos', 'USD', 100],
    ] as const) {
      expect([text, read(text, unit)]).toEqual([text, { value: null, guess }])
    }
    expect(read('C$5', 'CAD')).toEqual({ value: 5 })
    expect(read('¥5', 'JPY')).toEqual({ value: 5 })
    expect(read('20 °C', 'C')).toEqual({ value: 20 })
    expect(read('5 per cent', '%')).toEqual({ value: 5 })
    expect(read('50 mph', 'km/h')).toEqual({ value: 80.4672 })
    expect(read('90 minutes', 'hours')).toEqual({ value: 1.5 })
    expect(read('in 5', 'cm')).toEqual({ value: 5 })
    expect(read('10 m/s', 'km/h')).toEqual({ value: 36 })
    expect(read('5 ore', 'minutes')).toEqual({ value: 300 })
    expect(read('3 dagen', 'hours')).toEqual({ value: 72 })
    expect(read('2 chili', 'g')).toEqual({ value: 2000 })
    expect(read('5 por cento', '%')).toEqual({ value: 5 })
    expect(read('2 euro en 50', 'EUR')).toEqual({ value: null, guess: 2 })
  })

  it('are rounded as they are asked for, and whole or a guess', () => {
    expect(read('1.005', 'kg', { decimals: 2 })).toEqual({ value: 1.01 })
    expect(read('2.5', 'kg', { integer: true })).toEqual({ value: null, guess: 3 })
    expect(read('-2.5 kg', 'kg', { decimals: 0 })).toEqual({ value: -3 })
    expect(read('1e20', 'kg', { decimals: 2 })).toEqual({ value: 1e20 })
    expect(read('100000000000000000000.5', 'kg', { decimals: 6 }).guess).toBe(1e20)
  })
})

describe('durations', () => {
  it.each([
    ['5 hours - 7 hours', 7],
    ['5-7 hours', 7],
    ['5 Stunden bis 7 Stunden', 7],
    ['30 min to 1 hour', 1],
    ['1 hour 30 minutes to 2 hours 15 minutes', 2.25],
    ['2 hours (120 minutes)', 2],
    ['1 hour 30 minutes', null],
  ])('of several lengths the last is guessed, not their sum: %s', (text, guess) => {
    const { value, guess: guessed } = readValue({ type: 'duration', unit: 'hours' }, text)
    expect([value, guessed]).toEqual(guess === null ? [1.5, undefined] : [null, guess])
  })

  const read = (text: string, unit: 'hours' | 'days' | 'months' | 'years') =>
    readValue({ type: 'duration', unit }, text)

  it.each(['-2 hours', '−2 hours', 'minus two hours'])('%s: no length is below nothing', (text) =>
    expect(read(text, 'hours')).toEqual({ value: null, guess: 2 }),
  )

  it('are told in their unit, where there is one length', () => {
    expect(read('90 minutes', 'hours')).toEqual({ value: 1.5 })
    expect(read('two weeks', 'days')).toEqual({ value: 14 })
    expect(read('18 months', 'years')).toEqual({ value: 1.5 })
    expect(read('two years', 'months')).toEqual({ value: 24 })
  })

  it('are guesses between days and months', () => {
    expect(read('3 months', 'days')).toEqual({ value: null, guess: 91.310625 })
    expect(read('30 days', 'months').value).toBeNull()
  })
})

describe('a part of what is said is not taken for the whole', () => {
  // Read in its language; null: a guess at most.
  const said: readonly (readonly ['number' | 'duration' | 'time' | 'date' | 'datetime', string, string, unknown])[] = [
    ['number', 'en', 'three quarters', 0.75],
    ['number', 'en', 'three quarters of a million', 750000],
    ['number', 'en', 'a million and a half', 1500000],
    ['number', 'en', 'several thousand', null],
    ['number', 'en', 'three point five', null],
    ['number', 'en', 'Tea - 3.50', null],
    ['number', 'en', '10²', null],
    ['number', 'en', '1⅞', 1.875],
    ['number', 'en', '0123456', null],
    ['number', 'en', '12M users', null],
    ['number', 'en', '1.5m USD', 1500000],
    ['number', 'en', '12:30', null],
    ['number', 'en', 'A4', null],
    ['number', 'en', '5 euros 50', null],
    ['number', 'de', 'zweieinhalb Millionen', 2500000],
    ['number', 'de', '2 Billionen', 2e12],
    ['number', 'de', '3 mln', 3000000],
    ['number', 'fr', 'trois quarts', 0.75],
    ['number', 'es', 'un cuarto de millón', 250000],
    ['number', 'en', '1,5 Millionen', 1500000],
    ['number', 'en', '1,5 miljoen', 1500000],
    ['number', 'en', 'twenty fifteen', null],
    ['number', 'en', 'ten four', null],
    ['number', 'en', 'zero zero seven', null],
    ['number', 'en', 'a thousand two thousand', null],
    ['number', 'fr', 'soixante et onze', 71],
    ['number', 'fr', 'dix sept', 17],
    ['number', 'fr', 'quarante dix', null],
    ['number', 'fr', 'cent-deux cents', null],
    ['number', 'fr', '50 cents', 50],
    ['number', 'es', 'dos y un tercio', 2 + 1 / 3],
    ['number', 'es', 'veinte quince', null],
    ['duration', 'fr', 'une heure et quart', 4500],
    ['duration', 'en', '1h 20', 4800],
    ['duration', 'en', 'three quarters of an hour', 2700],
    ['duration', 'en', '30 min to 1 hour', null],
    ['duration', 'de', 'eine Dreiviertelstunde', 2700],
    ['duration', 'es', 'dos horas menos cuarto', null],
    ['time', 'en', 'John 3:16', null],
    ['time', 'en', '2 Kings, Luke 2:10', null],
    ['time', 'de', 'im Maßstab 1:50', null],
    ['time', 'en', 'a ratio of 16:10', null],
    ['time', 'en', 'Monday 3:16', '03:16'],
    ['time', 'en', 'John 3:16 pm', '15:16'],
    ['time', 'fr', 'midi et demi', '12:30'],
    ['time', 'fr', 'midi moins dix', null],
    ['time', 'fr', '8 heures par jour', null],
    ['time', 'fr', '15 heures', '15:00'],
    ['time', 'es', '8 horas diarias', null],
    ['time', 'fr', 'cet après-midi', null],
    ['time', 'en', '9-11 am', null],
    ['time', 'en', 'half past noon', '12:30'],
    ['time', 'de', '8 bis 10 Uhr', null],
    ['time', 'de', '8:30 Uhr abends', '20:30'],
    ['date', 'en', 'March 4, 26', '2026-03-04'],
    ['date', 'en', 'March 4 and 5', null],
    ['date', 'en', 'may 5 people', null],
    ['date', 'en', 'we march 5 miles', null],
    ['date', 'en', 'on May 5 people', '2027-05-05'],
    ['date', 'en', 'May 5 at the office', '2027-05-05'],
    ['date', 'en', 'May 5, 2026 people', '2026-05-05'],
    ['date', 'en', 'version 1.2.2026', null],
    ['date', 'en', 'v2026.1.2', null],
    ['date', 'de', 'Version vom 1.2.2026', '2026-02-01'],
    ['date', 'de', 'Abschnitt 1.2.2026', null],
    ['date', 'fr', 'version 2026-03-04', '2026-03-04'],
    ['date', 'es', '3 ago', '2026-08-03'],
    ['date', 'en', '26-03-04', null],
    ['date', 'en', 'a week tomorrow', null],
    ['date', 'en', 'the day after March 4, 2026', null],
    ['date', 'de', 'Mo, 4. März 2026', null],
    ['date', 'de', 'guten Morgen', null],
    ['date', 'fr', 'entre le 4 et le 6 mars 2026', null],
    ['date', 'fr', 'dans 3 jours ouvrés', null],
    ['datetime', 'en', 'March 4, 2026 at midnight', null],
    ['datetime', 'en', 'tomorrow evening at 8:00', null],
    ['datetime', 'en', 'tonight at 8 pm', '2026-11-24T20:00:00'],
    ['datetime', 'en', 'tonight at 8:00', null],
    ['datetime', 'en', 'March 4, 2026 3 pm ET', null],
  ]
  it.each(said)('%s, %s: %s', (type, language, text, value) => {
    const context = { reference: REFERENCE, language: language as LanguageName }
    expect(readValue({ type } as { type: 'date' }, text, context).value).toBe(value)
  })

  it('nor where the rest stands beside it, on the same line', () => {
    const english = { reference: REFERENCE, language: 'en' } as const
    const read = (type: 'time' | 'duration', text: string, before: string, behind = '') =>
      readValue({ type } as { type: 'time' }, text, { language: 'en', beside: { before, behind } }).value
    expect(read('time', '11 am', 'from 9 to ')).toBeNull()
    expect(read('time', '11 am', 'from 9 to\n')).toBe('11:00')
    expect(read('time', '3:16', 'as in John ')).toBeNull()
    expect(readValue({ type: 'date' }, 'may 5', { ...english, beside: { before: '', behind: ' people' } })).toEqual({
      value: null,
      guess: '2027-05-05',
    })
    expect(readValue({ type: 'date' }, '1.2.2026', { ...english, beside: { before: 'Version ', behind: '' } })).toEqual(
      {
        value: null,
        guess: '2026-02-01',
      },
    )
    expect(read('duration', '3 hours', '2-')).toBeNull()
    expect(read('duration', '2 hours', '', ' less 10 minutes')).toBeNull()
  })

  it.each([
    ['it', 'time', '17:00', 'dalle 9 alle ', null],
    ['pt', 'time', '17h', 'das 9 às ', null],
    ['pt', 'time', '15:30', 'dia 4 às ', '15:30'],
    ['nl', 'time', '17:00', 'van 9 tot ', null],
    ['nl', 'date', '4 maart 2026', 'drie dagen na ', null],
    ['es', 'date', '5 de marzo de 2026', 'del día 3 al ', null],
    ['es', 'time', '15:30', 'el día 4 a las ', '15:30'],
  ] as const)('in %s, %s: %s behind %s', (language, type, text, before, value) =>
    expect(readValue({ type }, text, { language, beside: { before, behind: '' } }).value).toBe(value),
  )
})

describe('where no language is known', () => {
  const read = (type: 'number' | 'date' | 'duration' | 'datetime', text: string, around?: string) =>
    readValue({ type } as { type: 'date' }, text, { reference: REFERENCE, around })

  it.each([
    'once',
    'due',
    'sei',
    'null',
    'Otto',
    'cent',
    'onze',
    'très',
    'Sept',
    'Mila',
    'Trent',
    'mile',
    'achten',
    'elf',
  ])('%s is no number', (text) => expect(read('number', text).value).toBeNull())

  it('nor is a language known by words that others have too', () => {
    const around = 'Porto una torta con la panna, dura due ore e mezza'
    expect(read('duration', 'due ore e mezza', around).value).toBe(9000)
    expect(read('number', 'zwölf', 'Wir kommen um neun, da sind es zwölf').value).toBe(12)
  })

  it('such words are numbers of a text that is, and beside what says it', () => {
    expect(readValue({ type: 'number' }, 'once', { language: 'es' }).value).toBe(11)
    expect(read('number', 'once', 'El plazo de las once y los días.').value).toBe(11)
    expect(read('number', 'once', 'This is for the cat and the dog.').value).toBeNull()
    expect(read('number', 'dos y medio').value).toBe(2.5)
    expect(read('duration', 'due giorni').value).toBe(172_800)
    expect(read('number', 'Due 15').value).toBe(15)
    expect(read('number', 'elf', 'Der Preis ist nicht von mir').value).toBe(11)
    expect(read('date', '5 out of 10').value).toBeNull()
    expect(read('date', '3 ago')).toEqual({ value: null, guess: '2026-08-03' })
    expect(read('date', '3 ago 2026').value).toBe('2026-08-03')
    expect(readValue({ type: 'date' }, '5 out 2026', { language: 'pt' }).value).toBe('2026-10-05')
  })

  it('the one that reads most is right', () => {
    expect(read('number', 'mille neuf cent quatre-vingt-quatre').value).toBe(1984)
    expect(read('number', 'un millón doscientos mil').value).toBe(1_200_000)
    expect(read('duration', '2 Stunden 30 Minuten').value).toBe(9000)
    expect(read('datetime', 'demain à 9h').value).toBe('2026-11-25T09:00:00')
    expect(read('datetime', 'March 4, 2026 at 3:30 pm').value).toBe('2026-03-04T15:30:00')
  })
})

it('takes a day in a year that has not four digits for none', () => {
  const read = (input: string, reference = REFERENCE) =>
    readValue({ type: 'date' }, input, { reference, language: 'en' })
  for (const input of ['in 9000 years', '3000 years ago', 'in 97000 months', 'in 3000000 days'])
    expect([input, read(input)]).toEqual([input, { value: null }])
  expect(read('tomorrow', '9999-12-31')).toEqual({ value: null })
})

it('neither throws nor takes long, whatever it is given', () => {
  const bits = fc.constantFrom(
    ...[
      '1',
      '12',
      '2026',
      '.',
      ',',
      ' ',
      '-',
      '/',
      ':',
      'march',
      'märz',
      'next',
      'in',
      'ago',
      'h',
      'm',
      'und',
      'a',
      'half',
      '½',
      '(',
      'pm',
      'e9',
      '\u202e',
      '\ud800',
      'vingt',
    ],
  )
  const text = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 60 }),
    fc.array(bits, { maxLength: 80 }).map((all) => all.join('')),
  )
  fc.assert(
    fc.property(
      text,
      fc.constantFrom('date', 'time', 'datetime', 'number', 'duration'),
      fc.constantFrom<LanguageName | undefined>('en', 'de', 'fr', 'es', 'it', 'pt', 'nl', undefined),
      (input, type, language) => {
        const { value, guess } = readValue({ type } as { type: 'date' }, input, {
          reference: REFERENCE,
          language,
          around: input,
        })
        for (const one of [value, guess]) if (typeof one === 'number') expect(Number.isFinite(one)).toBe(true)
        if (value !== null) expect(guess).toBeUndefined()
        if (type === 'date' && value !== null) expect(iso(new Date(`${value}T00:00:00Z`))).toBe(value)
      },
    ),
    { numRuns: runs(2000) },
  )
  for (const input of [
    '1'.repeat(400),
    '1 '.repeat(200),
    'a '.repeat(200),
    'vingt'.repeat(80),
    '1,'.repeat(200),
    '½'.repeat(400),
  ]) {
    for (const type of ['date', 'time', 'datetime', 'number', 'duration'] as const)
      readValue({ type }, input, { reference: REFERENCE })
  }
})
