import { amountsIn } from './amounts.js'
import { besides } from './beside.js'
import {
  dateOf,
  dayOf,
  dayOfIso,
  hasOtherOrders,
  isoOf,
  monthsFrom,
  nearest,
  ourYear,
  weekdayOf,
  yearOf,
} from './calendar.js'
import { easternDates } from './eastern.js'
import { quantities } from './quantities.js'
import { agreedReading, type FoundReading, type ReaderContext, sure, unsure, type ValueReading } from './reading.js'
import { anyWord, blanked, ofLast, ofWords, plain, rightBefore, wholeWords } from './text.js'
import { MONTHS_ELSEWHERE, OF_ELSEWHERE } from './words/elsewhere.js'
import { LANGUAGES, type LanguageName, type LanguageWords, type TimeUnit } from './words/index.js'

/** The date that a text says, and the text without it. */
export function dateIn(
  text: string,
  language: LanguageName,
  context: ReaderContext,
): { readonly reading: ValueReading<string>; readonly rest: string } | undefined {
  const reference = referenceOf(context)
  const { dates, named, rest: behind } = found(text, language, context)
  const readings = dates.map(({ reading }) => reading)
  let rest = behind
  if (readings.length === 0) {
    // A day of the week alone may be the one before or the one to come.
    if (named.length === 0 || reference === undefined) return undefined
    return { reading: toldAs(isoOf(coming(named[0]!.weekday, reference)), false), rest }
  }
  const date = agreedReading(readings)!
  for (const { start, end } of named) rest = blanked(rest, start, end)
  const likely = date.value ?? date.guess
  if (likely === undefined) return { reading: { value: null }, rest }
  // The day of the week must be that of the date.
  const fits = named.every(({ weekday }) => weekday === weekdayOf(likely))
  return { reading: toldAs(isoOf(likely), date.value !== null && fits), rest }
}

const toldAs = (date: string | undefined, isSure: boolean): ValueReading<string> =>
  date === undefined ? { value: null } : isSure ? sure(date) : unsure(date)

/** Where a text says a date, and where a day of the week. */
export function datesIn(text: string, language: LanguageName, context: ReaderContext) {
  const { dates, named } = found(text, language, context)
  return { dates, weekdays: named }
}

const referenceOf = ({ reference }: ReaderContext) => (reference === undefined ? undefined : dayOfIso(reference))

function found(text: string, language: LanguageName, context: ReaderContext) {
  const words = LANGUAGES[language]
  let rest = text
  const dates: FoundReading<number>[] = []
  for (const find of [inDigits, withMonth, fromToday]) {
    const before = rest
    for (const one of find(rest, words, referenceOf(context), { language, context })) {
      dates.push(find === fromToday ? one : besides('date', before, one, words, context))
      rest = blanked(rest, one.start, one.end)
    }
  }
  return { dates, named: weekdays(rest, text, words), rest }
}

interface Beside {
  readonly language: LanguageName
  readonly context: ReaderContext
}
type Finder = (
  text: string,
  words: LanguageWords,
  reference: number | undefined,
  beside: Beside,
) => FoundReading<number>[]

/** Each place where a pattern stands, once. */
function all(
  text: string,
  pattern: RegExp,
  read: (match: RegExpExecArray) => ValueReading<number> | undefined,
): FoundReading<number>[] {
  return [...text.matchAll(pattern)].flatMap((match) => {
    const reading = read(match)
    return reading ? [{ reading, start: match.index, end: match.index + match[0].length }] : []
  })
}

const YEAR_FIRST = /(?<![\d.,])(\d{4})([-/]|\. ?)(\d{1,2})\2(\d{1,2})(?!\d)/gu
const YEAR_LAST = /(?<![\d.,/-])(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})(?![\d.,]\d|\d)/gu

/** `version 1.2.2026`, `v2026.1.2`, `§ 3.4.2026`: a number in parts. */
const PARTED =
  /(?:\p{L}|(?<!\p{L})(?:v|ver|versi(?:ons?|one|oni|e)|vers(?:ao|oes)|release|build|section|chapter|kapitel|abschnitt|ip)[.:]? |§ ?)$/u

const inDigits: Finder = (text, words, reference, beside) =>
  dottedIn(text, words, reference, beside).map((one) => {
    const { reading, start, end } = one
    const before = (beside.context.beside?.before ?? '') + rightBefore(text, start)
    const isPart = /[a-z]$/.test(before) || (text.slice(start, end).includes('.') && PARTED.test(before))
    return isPart && reading.value !== null ? { ...one, reading: unsure(reading.value) } : one
  })

const dottedIn: Finder = (text, _, reference, { language, context }) => [
  ...easternDates(text, reference, context.beside),
  ...all(text, YEAR_FIRST, ([, digits, , month, day]) => {
    const year = ourYear(Number(digits), context, text)
    return year === undefined ? { value: null } : known(dayOf(year, Number(month), Number(day)))
  }),
  ...all(text, YEAR_LAST, ([, first, mark, second, digits]) => {
    const written = yearOf(digits!, reference)
    const year = written && ourYear(written, context, text)
    if (year === undefined) return { value: null }
    const dayFirst = dayOf(year, Number(second), Number(first))
    // In English a short one with points may be as one with slashes.
    const isDayFirst = mark === '.' && (language !== 'en' || digits!.length === 4)
    const monthFirst = isDayFirst ? undefined : dayOf(year, Number(first), Number(second))
    // `26-03-04` of 2004 is further away than the other way round, as some languages write it with any mark.
    if (digits!.length === 2 && (mark === '-' || language !== context.language) && reference !== undefined) {
      const yearFirst = yearOf(first!.padStart(2, '0'), reference)!
      const away = (one: number) => Math.abs(one - dateOf(reference).year)
      const there = away(yearFirst) < away(year) ? dayOf(yearFirst, Number(second), Number(digits)) : undefined
      if (there !== undefined) return unsure(there)
    }
    const likely = dayFirst ?? monthFirst
    if (digits!.length === 2 && likely !== undefined && (hasOtherOrders(context.around ?? text) || !isShort(context)))
      return unsure(likely)
    if (dayFirst === undefined || monthFirst === undefined || dayFirst === monthFirst) return known(likely)
    const order = orderOf(context)
    if (order === undefined) return unsure(dayFirst)
    return sure(order === 'day' ? dayFirst : monthFirst)
  }),
]

const known = (day: number | undefined): ValueReading<number> => (day === undefined ? { value: null } : sure(day))

/** By the locale's region, else by the other dates of the text. */
function orderOf({ locale, around = '' }: ReaderContext): Order {
  const first = locale === undefined ? undefined : byRegion(locale)
  return first === undefined ? byDates(around) : first.order
}

type Order = 'day' | 'month' | undefined

/** Whether years of two digits stand last there, and are of our calendar. */
const isShort = ({ locale }: ReaderContext) => (locale === undefined ? undefined : byRegion(locale))?.isShort ?? true

/** Undefined: it names no region. */
const byRegion = ofLast((locale): { readonly order: Order; readonly isShort: boolean } | undefined => {
  if (new Intl.Locale(locale).region === undefined) return undefined
  const format = new Intl.DateTimeFormat(locale, { day: '2-digit', month: '2-digit', year: 'numeric' })
  const parts = format.formatToParts(0)
  const isFirst = parts.find(({ type }) => type === 'day' || type === 'month' || type === 'year')?.type === 'year'
  const isShort = !isFirst && format.resolvedOptions().calendar === 'gregory'
  const first = parts.find(({ type }) => type === 'day' || type === 'month')?.type
  return { order: first === 'day' || first === 'month' ? first : undefined, isShort }
})

const byDates = ofLast((text): Order => {
  const orders = new Set(
    [...text.slice(0, 20_000).matchAll(YEAR_LAST)].flatMap(([, first, mark, second]) => {
      if (mark === '.') return []
      if (Number(first) > 12 && Number(second) <= 12) return ['day' as const]
      return Number(second) > 12 && Number(first) <= 12 ? ['month' as const] : []
    }),
  )
  return orders.size === 1 ? [...orders][0] : undefined
})

interface Patterns {
  readonly dayMonth: RegExp
  readonly monthDay: RegExp
  readonly monthYear: RegExp
  readonly weekday: RegExp
  readonly month: ReadonlyMap<string, number>
}

const patternsOf = ofWords((words: LanguageWords): Patterns => {
  const months = words.months.flatMap((names, i) => [...names, ...MONTHS[i]!].map((name) => [name, i + 1] as const))
  const month = String.raw`(${anyWord(months.map(([name]) => name))})\.?`
  const day = String.raw`(\d{1,2})(?:${anyWord([...words.ordinals, '.'])})?`
  const of = String.raw`(?:\s${anyWord([...words.of, ...OF_ELSEWHERE.map(plain)])}\.?)?`
  // No time of day behind it: "4 March 15:30".
  const year = String.raw`(\d{4}|'\d{2}|(?<=\d[-/]\p{L}+\.?[-/])\d{2}|(?<=(?:\d\p{L}{0,2}|\p{L})\.?,? )\d{2}(?! ?[-/]|\p{L}| (?!(?:at|um|a) )\p{L}))(?![:.]?\d)`
  const other = String.raw`\s?\d{1,2}(?:${anyWord(words.ordinals)})?(?![:.]?\d)`
  const hours = anyWord([...words.clock.am, ...words.clock.pm])
  // "March 3-5, 2026" is no one day, "March 3 - 5 pm" is.
  const through = String.raw`(\s?(?:(?:-|to|through|bis|au|al?|tot|tot en met|t/m)${other}(?!\s?${hours})|(?:and|or|&|und|et|y|e|en)${other}(?=,?\s?\d{4})))?`
  return {
    dayMonth: wholeWords(String.raw`${day}${of}[\s/-]*${month}(?:[,\s/-]*${of.trim()}\s*${year})?`),
    monthDay: wholeWords(String.raw`${month}\s*${day}${through}(?:\s*,?\s*${year})?`),
    monthYear: wholeWords(String.raw`${month}${of}\s*,?\s*${year}`),
    weekday: wholeWords(String.raw`(${anyWord(words.weekdays.flat())})\.?`),
    month: new Map(months),
  }
})

const withMonth: Finder = (text, words, reference, { context }) => {
  const { dayMonth, monthDay, monthYear, month } = patternsOf(words)
  const named = (day: string, name: string, digits: string | undefined): ValueReading<number> | undefined => {
    // "5 out" of a text that is not known to be Portuguese.
    if (context.language === undefined && words.alike?.includes(name)) return undefined
    const [m, d] = [month.get(name)!, Number(day)]
    if (digits === undefined) {
      const reading = reference === undefined ? { value: null } : known(nearest(m, d, reference))
      // "3 ago" is August, or a slip where no language is known.
      return name === 'ago' && context.language === undefined && reading.value !== null
        ? unsure(reading.value)
        : reading
    }
    const written = yearOf(digits.replace("'", ''), reference)
    const year = written && ourYear(written, context, text)
    return year === undefined ? { value: null } : known(dayOf(year, m, d))
  }
  const yearless = new Set<number>()
  const one = all(text, dayMonth, ({ index, 1: day, 2: name, 3: year }) => {
    if (year === undefined) yearless.add(index)
    return named(day!, name!, year)
  })
  let rest = text
  for (const { start, end } of one) rest = blanked(rest, start, end)
  const other = all(rest, monthDay, ({ index, 0: said, 1: name, 2: day, 3: others, 4: year }) => {
    if (year === undefined) yearless.add(index)
    const reading = named(day!, name!, year)
    const isVerb = year === undefined && MAY.test(name!) && isCounted(text, index, index + said.length, context)
    return (others !== undefined || isVerb) && reading && reading.value !== null ? unsure(reading.value) : reading
  })
  for (const { start, end } of other) rest = blanked(rest, start, end)
  // The first of its month is a guess.
  const months = all(rest, monthYear, ([, name, digits]) => {
    const year = yearOf(digits!.replace("'", ''), reference)
    const first = year === undefined ? undefined : dayOf(year, month.get(name!)!, 1)
    return first === undefined ? { value: null } : unsure(first)
  })
  return [...one, ...other, ...months].map((found) => {
    const { value } = found.reading
    const said = text.slice(found.start, found.end)
    // Which words there make a range of two days is not known.
    const isOpen = ELSEWHERE.test(said) && (!/\d{4}/.test(said) || AFTER_DAY.test(rightBefore(text, found.start)))
    if (isOpen && value !== null) return { ...found, reading: unsure(value) }
    return yearless.has(found.start) ? besides('yearless', text, found, words, context) : found
  })
}

const MONTHS = MONTHS_ELSEWHERE.map((names) => names.split(' ').map(plain))
const ELSEWHERE = wholeWords(anyWord(MONTHS.flat()), 'u')
const AFTER_DAY = /\d[^\d|]{1,9}$/u

function weekdays(rest: string, text: string, words: LanguageWords): { weekday: number; start: number; end: number }[] {
  return [...rest.matchAll(patternsOf(words).weekday)].flatMap((match) => {
    const weekday = words.weekdays.findIndex((names) => names.includes(match[1]!))
    // Two letters are a day of the week only with their point or beside a number.
    if (match[1]!.length < 3 && !/^\.|^,? *\d/.test(text.slice(match.index + 2))) return []
    return [{ weekday, start: match.index, end: match.index + match[0].length }]
  })
}

/** `may 5 people come`, `march 5 miles`: a verb, unless a word before tells of a day, or none behind of things. */
const MAY = /^(?:may|march)$/
const OF_DAY =
  /(?<!\p{L})(?:on|by|until|till|from|since|before|after|of|to|for|this|next|last|between|and|due) (?:the )?$/u
const THINGS =
  /^ (?!(?:a[tns]?|and|or|i[nfst]?|o[nfr]|to|from|for|was|will|by|the|with|but|until|till|through|please|works?|when|between|after|before|we|you|s?he|they|there|our|my|th[ai][ts]|next|last|year)(?!\p{L}))\p{L}/u

const isCounted = (text: string, start: number, end: number, { beside }: ReaderContext): boolean =>
  THINGS.test(text.slice(end) + (beside?.behind ?? '')) &&
  !OF_DAY.test((beside?.before ?? '') + rightBefore(text, start))

/** Between two numbers, and between two amounts, of which neither says how far it is. */
const OR = /^ ?(?:-|to|or|bis|oder|a|o|u|ou|tot|of) ?$/
const AND = /^,? ?(?:-|to|or|bis|oder|a|o|u|ou|tot|of|and|und|et|y|e|en)? ?$/

const coming = (weekday: number, from: number) => from + ((weekday - weekdayOf(from) + 6) % 7) + 1

const gone = (weekday: number, from: number) => from - ((weekdayOf(from) - weekday + 6) % 7) - 1

/** How days are told from today on. */
const relativeOf = ofWords(({ weekdays, days, coming, next, last, now, ahead, ago }) => {
  const day = `(${anyWord(weekdays.flat())})`
  const ofWeek = (phrases: readonly string[]) =>
    wholeWords(phrases.length === 0 ? '(?!)' : phrases.map((one) => `(?:${one.replace('W', day)})`).join('|'))
  const beside = (phrases: readonly string[]) =>
    phrases.map((one) => {
      const [before, behind] = one.split('Q').map((side) => side.trim()) as [string, string]
      return { before, behind, head: wholeWords(`${before}$`, 'u'), tail: wholeWords(`^${behind}`, 'u') }
    })
  return {
    named: wholeWords(`(${anyWord(Object.keys(days))})`),
    coming: ofWeek(coming),
    next: ofWeek(next),
    last: ofWeek(last),
    now: ofWeek(now),
    ahead: beside(ahead),
    ago: beside(ago),
  }
})

/** Part of a day, and not the next one. */
const MORNING =
  /(?<!\p{L})(?:(?:la|esta|cada) manana|(?:am|der|den|dem|guten|jeden|diesen|heute|gestern|vandaag|gisteren|elke|goede) morgen)$/u

const fromToday: Finder = (text, words, reference, { language, context }) => {
  const found: FoundReading<number>[] = []
  let rest = text
  const take = (ones: FoundReading<number>[], kind: 'day' | 'weekday' = 'day') => {
    for (const one of ones) {
      if (rest.slice(one.start, one.end).trim() === '') continue
      found.push(besides(kind, text, one, words, context))
      rest = blanked(rest, one.start, one.end)
    }
  }
  const from = (read: (today: number) => ValueReading<number>) =>
    reference === undefined ? { value: null } : read(reference)
  const patterns = relativeOf(words)
  const weekday = (pattern: RegExp, read: (weekday: number, today: number) => ValueReading<number>) =>
    take(
      all(rest, pattern, (match) => {
        const name = match.slice(1).find((group) => group !== undefined)!
        return from((today) =>
          read(
            words.weekdays.findIndex((names) => names.includes(name)),
            today,
          ),
        )
      }),
      'weekday',
    )
  weekday(patterns.coming, (w, today) => sure(coming(w, today)))
  // Some mean the one of this week, if it is yet to come, some that of the next.
  weekday(patterns.next, (w, today) => (w > weekdayOf(today) ? unsure : sure)(coming(w, today)))
  weekday(patterns.last, (w, today) => (w < weekdayOf(today) && words.next.length > 0 ? unsure : sure)(gone(w, today)))
  // "this Monday", on a Tuesday, may be yet to come.
  weekday(patterns.now, (w, today) => (w < weekdayOf(today) ? unsure : sure)(today - weekdayOf(today) + w))
  const { amounts } = amountsIn(rest, language, context)
  const numbers = amounts.length > 0 ? quantities(rest, language, context) : []
  // "2 or 3 days ago", "2 weeks and 3 days ago".
  const joined = (one: { end: number }, two: { start: number }, gap: RegExp) =>
    one.end <= two.start && gap.test(rest.slice(one.end, two.start))
  for (const [sign, phrases] of [
    [1, patterns.ahead],
    [-1, patterns.ago],
  ] as const) {
    for (const { before, behind, head: beforeIt, tail: behindIt } of phrases) {
      for (const amount of amounts) {
        const [head, tail] = [rest.slice(0, amount.start).trimEnd(), rest.slice(amount.end).trimStart()]
        if (before !== '' && !beforeIt.test(rightBefore(head, head.length))) continue
        if (behind !== '' && !behindIt.test(tail)) continue
        const start = before === '' ? amount.start : head.length - before.length
        const end = behind === '' ? amount.end : rest.length - tail.length + behind.length
        const several =
          before === ''
            ? numbers.some((one) => joined(one, amount, OR)) || amounts.some((one) => joined(one, amount, AND))
            : numbers.some((one) => joined(amount, one, OR)) || amounts.some((one) => joined(amount, one, AND))
        const reading = from((today) => shifted(today, amount.count, amount.unit, sign))
        take([{ reading: several ? { value: null } : reading, start, end }])
      }
    }
  }
  // "a week from today" is not today.
  const before = context.beside?.before ?? ''
  take(
    all(rest, patterns.named, ({ index, 1: name }) =>
      MORNING.test(`${before}${rightBefore(text, index)}${name}`)
        ? undefined
        : from((today) => sure(today + words.days[name!]!)),
    ),
  )
  return found
}

function shifted(day: number, { value }: ValueReading<number>, unit: TimeUnit, sign: number): ValueReading<number> {
  if (value === null || !Number.isInteger(value) || value > 100_000) return { value: null }
  const count = value * sign
  const there =
    unit === 'days'
      ? day + count
      : unit === 'weeks'
        ? day + 7 * count
        : unit === 'months'
          ? monthsFrom(day, count)
          : unit === 'years'
            ? monthsFrom(day, 12 * count)
            : undefined
  return there === undefined || isoOf(there) === undefined ? { value: null } : sure(there)
}
