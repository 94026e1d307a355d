/** Days as numbers, from 1970-01-01. */
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
