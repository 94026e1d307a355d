/** Days as numbers, from 1970-01-01. */
import type { ReaderContext } from './reading.js'
import { ofLast } from './text.js'

const DAY = 86_400_000

/** Undefined: there is no such day. */
export function dayOf(year: number, month: number, day: number): number | undefined {
  if (year < 1 || year > 9999) return undefined
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? date.getTime() / DAY : undefined
}

export function dateOf(day: number): { year: number; month: number; day: number } {
  const date = new Date(day * DAY)
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() }
}

/** Undefined: its year has not four digits. */
export function isoOf(day: number): string | undefined {
  const { year } = dateOf(day)
  return year >= 1 && year <= 9999 ? new Date(day * DAY).toISOString().slice(0, 10) : undefined
}

/** Undefined: no date, or none that there is. */
export function dayOfIso(text: string): number | undefined {
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text) ?? []
  return year === undefined ? undefined : dayOf(Number(year), Number(month), Number(day))
}

/** 0 is a Monday. */
export const weekdayOf = (day: number): number => (((day + 3) % 7) + 7) % 7

/** The same day of another month, or that month's last; undefined: there is no such month. */
export function monthsFrom(day: number, months: number): number | undefined {
  const from = dateOf(day)
  const count = from.year * 12 + from.month - 1 + months
  const [year, month] = [Math.floor(count / 12), (count % 12) + 1]
  for (let last = from.day; ; last--) {
    const there = dayOf(year, month, last)
    if (there !== undefined) return there
    if (last < 28) return undefined
  }
}

/** Of the years in which there is this day, the one nearest to the reference. */
export function nearest(month: number, day: number, reference: number): number | undefined {
  const { year } = dateOf(reference)
  const days = [...Array(17).keys()].flatMap((i) => dayOf(year - 8 + i, month, day) ?? [])
  return days.sort((a, b) => Math.abs(a - reference) - Math.abs(b - reference))[0]
}

/** A year of two digits, as the one nearest to the reference. */
export function yearOf(digits: string, reference: number | undefined): number | undefined {
  if (digits.length === 4) return Number(digits)
  if (reference === undefined) return undefined
  const { year } = dateOf(reference)
  const century = year - (year % 100)
  const years = [century - 100, century, century + 100].map((first) => first + Number(digits))
  return years.sort((a, b) => Math.abs(a - year) - Math.abs(b - year))[0]
}

/** Of texts with such letters: years that may be another calendar's, and what makes them ours where they can be no others. */
const CALENDARS: readonly (readonly [script: RegExp, from: number, to: number, shift?: number])[] = [
  [/(?!\p{M})[\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}]/u, 2400, 2700, -543],
  [/\p{scx=Arab}/u, 1200, 1500],
  [/\p{scx=Deva}/u, 2050, 2150],
  [/\p{scx=Beng}/u, 1300, 1500],
  [/\p{scx=Mymr}/u, 1300, 1500],
  [/\p{scx=Hebr}/u, 5000, 6000],
  [/\p{scx=Ethi}/u, 1, 9999],
]
const calendarsIn = ofLast((text) => CALENDARS.filter(([script]) => script.test(text)))
/** A letter of such a script: where nothing else tells that a text is Thai. */
const LETTERS: ReadonlyMap<string, string> = new Map(Object.entries({ th: 'ก', fa: 'ا', ar: 'ا', ne: 'अ', am: 'አ' }))

/** A year as it is written, as one of ours; undefined: it may be another. */
export function ourYear(year: number, { around, locale }: ReaderContext, text: string): number | undefined {
  const language = locale === undefined ? '' : new Intl.Locale(locale).language
  const other = calendarsIn((around ?? text) + (LETTERS.get(language) ?? '')).find(
    ([, from, to]) => year >= from && year <= to,
  )
  return other === undefined ? year : other[3] === undefined ? undefined : year + other[3]
}

/** Where years of two digits stand first, or are of another calendar. */
export const hasOtherOrders = ofLast((text) =>
  // Their accents and the point in the middle stand in Latin texts too.
  /(?![\p{M}\u00b7\u02bc\u02d7])[\p{scx=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Hang}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}\p{scx=Arab}\p{scx=Deva}\p{scx=Beng}\p{scx=Ethi}]/u.test(
    text,
  ),
)
