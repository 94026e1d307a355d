import { amountsIn, BETWEEN_AMOUNTS } from './amounts.js'
import { besides } from './beside.js'
import { type LanguageReading, type ReaderContext, sure, unsure, type ValueReading } from './reading.js'
import { LANGUAGES, type LanguageName, type TimeUnit } from './words/index.js'

/** Of seconds those below a month, of months those above: what lies between has no fixed length. */
const SECONDS = { seconds: 1, minutes: 60, hours: 3600, days: 86_400, weeks: 604_800 } as const
const MONTHS = { months: 1, years: 12 } as const
/** A month of the calendar, in the mean of its 400 years. */
const MONTH = 2_629_746

const ISO =
  /^p(?:([\d.]+)y)?(?:([\d.]+)m)?(?:([\d.]+)w)?(?:([\d.]+)d)?(?:t(?:([\d.]+)h)?(?:([\d.]+)m)?(?:([\d.]+)s)?)?$/
const ISO_UNITS = ['years', 'months', 'weeks', 'days', 'hours', 'minutes', 'seconds'] as const
const CLOCK = /^(\d{1,3}):([0-5]\d):([0-5]\d)$/

export function durationIn(
  text: string,
  language: LanguageName,
  context: ReaderContext,
  unit: TimeUnit,
): LanguageReading<number> | undefined {
  const clock = CLOCK.exec(text)
  if (clock) {
    const parts = clock.slice(1).map((part, i) => [Number(part), CLOCK_UNITS[i]!] as const)
    return { reading: inUnit(parts, unit), read: text.length }
  }
  const iso = ISO.exec(text)?.slice(1)
  if (iso?.some((part) => part !== undefined)) {
    const parts = iso.flatMap((part, i) => (part === undefined ? [] : [[Number(part), ISO_UNITS[i]!] as const]))
    return { reading: inUnit(parts, unit), read: text.length }
  }
  const { amounts, rest } = amountsIn(text, language, context)
  if (amounts.length === 0) return undefined
  const isApart = (i: number) => i > 0 && !BETWEEN_AMOUNTS.test(text.slice(amounts[i - 1]!.end, amounts[i]!.start))
  // "5 hours to 7 hours" are no twelve: of several lengths the last is guessed.
  let last = 0
  amounts.forEach((one, i) => {
    if (isApart(i) || amounts.slice(last, i).some(({ unit }) => unit === one.unit)) last = i
  })
  const counts = amounts.map(({ count, unit }) => [Math.abs(count.value ?? count.guess ?? 0), unit] as const)
  const reading = inUnit(counts.slice(last), unit)
  const parts = new Set(amounts.map((amount) => amount.unit))
  // "2 hours or 3 hours", "2 to 3 hours": not one length. "-2 hours": none, but a difference or a dash before one.
  const doubt =
    rest || parts.size < amounts.length || amounts.some(({ count }) => count.value === null || count.value < 0)
  // "30 min to 1 hour", "2 hours (120 minutes)"
  const apart = amounts.some((_, i) => isApart(i))
  const whole = { reading, start: amounts[0]!.start, end: amounts.at(-1)!.end }
  const { value, guess } = besides('duration', text, whole, LANGUAGES[language], context).reading
  const read = amounts.reduce((sum, { start, end }) => sum + end - start, 0)
  if (value !== null && (doubt || apart)) return { reading: unsure(value), read }
  return { reading: { value, ...(guess !== undefined && { guess }) }, read }
}

const CLOCK_UNITS = ['hours', 'minutes', 'seconds'] as const

function inUnit(amounts: readonly (readonly [count: number, unit: TimeUnit])[], unit: TimeUnit): ValueReading<number> {
  let [seconds, months] = [0, 0]
  for (const [count, of] of amounts) {
    if (of in SECONDS) seconds += count * SECONDS[of as keyof typeof SECONDS]
    else months += count * MONTHS[of as keyof typeof MONTHS]
  }
  if (unit in SECONDS) {
    const all = (seconds + months * MONTH) / SECONDS[unit as keyof typeof SECONDS]
    return months === 0 ? sure(all) : unsure(all)
  }
  const all = (months + seconds / MONTH) / MONTHS[unit as keyof typeof MONTHS]
  return seconds === 0 ? sure(all) : unsure(all)
}
