import { dateIn } from './date.js'
import { type ReaderContext, sure, unsure, type ValueReading } from './reading.js'
import { timeIn, zoneIn } from './time.js'
import type { LanguageName } from './words/index.js'

const ISO = /^(\d{4}-\d{2}-\d{2})[t ](\d{2}:\d{2}(?::\d{2})?)(?:[.,]\d+)? ?(z|[+-]\d{2}:?\d{2})?$/

/** ISO 8601, with an offset where one is said. */
export function datetimeIn(
  text: string,
  language: LanguageName,
  context: ReaderContext,
): ValueReading<string> | undefined {
  const iso = ISO.exec(text)
  const [day, clock, beside] = iso ? [iso[1]!, iso[2]!, iso[3] ?? ''] : [text, undefined, undefined]
  const date = dateIn(day, language, context)
  const time = timeIn(clock ?? date?.rest ?? text, language)
  if (!date) return time && { value: null }
  const likely = date.reading.value ?? date.reading.guess
  if (likely === undefined) return { value: null }
  const there = time && (time.reading.value ?? time.reading.guess)
  // Midnight is a guess where no time is said.
  if (there === undefined) return unsure(`${likely}T00:00:00`)
  const whole = `${likely}T${there}${there.length === 5 ? ':00' : ''}${zoneIn(beside ?? time!.rest)}`
  return date.reading.value === null || time!.reading.value === null ? unsure(whole) : sure(whole)
}
