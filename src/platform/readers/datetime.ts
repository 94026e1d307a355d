import { dateIn } from './date.js'
import { type LanguageReading, type ReaderContext, sure, unsure } from './reading.js'
import { timeIn, zoneIn } from './time.js'
import type { LanguageName } from './words/index.js'

const ISO = /^(\d{4}-\d{2}-\d{2})[t ](\d{2}:\d{2}(?::\d{2})?)(?:[.,]\d+)? ?(z|[+-]\d{2}:?\d{2})?$/

const MIDNIGHT = /(?<!\d)0?0(?:[:.h]| ?uhr| h)|12(?::00)* ?a\.?m/u
const ZONE_UNKNOWN =
  /(?<!\p{L})(?:(?:ist|bst|aest|aedt|jst|pacific|eastern|central|mountain|\p{L}+ time)(?!\p{L})|[ecmp]t(?= ?$|[.,;)]))/u

/** ISO 8601, with an offset where one is said. */
export function datetimeIn(
  text: string,
  language: LanguageName,
  context: ReaderContext,
): LanguageReading<string> | undefined {
  const iso = ISO.exec(text)
  const [day, clock, beside] = iso ? [iso[1]!, iso[2]!, iso[3] ?? ''] : [text, undefined, undefined]
  const date = dateIn(day, language, context)
  const time = timeIn(
    clock ?? (date ? date.rest + (/(?<!\p{L})(?: tonight| vanavond| stasera)/u.exec(` ${text}`)?.[0] ?? '') : text),
    language,
    context,
  )
  if (!date) return time && { reading: { value: null }, read: 0 }
  const likely = date.reading.value ?? date.reading.guess
  if (likely === undefined) return { reading: { value: null }, read: 0 }
  const there = time && (time.reading.value ?? time.reading.guess)
  // Midnight is a guess where no time is said.
  if (there === undefined) return { reading: unsure(`${likely}T00:00:00`), read: 0 }
  const whole = `${likely}T${there}${there.length === 5 ? ':00' : ''}${zoneIn(beside ?? time!.rest)}`
  // A day has two midnights, and ET an hour more in summer.
  const isOpen =
    (there.startsWith('00:00') && !MIDNIGHT.test(text)) ||
    ZONE_UNKNOWN.test(time!.rest + (context.beside?.behind ?? ''))
  const isSure = date.reading.value !== null && time!.reading.value !== null && !isOpen
  return { reading: (isSure ? sure : unsure)(whole), read: 1 }
}
