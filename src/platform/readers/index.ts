/** Values as people write them, read without guessing: what a text does not say in one way is null, with a guess. */
import { dateIn } from './date.js'
import { datetimeIn } from './datetime.js'
import { durationIn } from './duration.js'
import { languageOf } from './language.js'
import { quantities } from './quantities.js'
import { agreedReading, type ReaderContext, unsure, type ValueReading } from './reading.js'
import { plain } from './text.js'
import { timeIn } from './time.js'
import { inUnitOf } from './units.js'
import { LANGUAGES, type LanguageName, type TimeUnit } from './words/index.js'

export type { ReaderContext, ValueReading } from './reading.js'
export { closestAround, type ReadableKind, stretchesIn } from './stretches.js'
export type { LanguageName, TimeUnit } from './words/index.js'

/** What is to be read. */
export type ValueType =
  | { readonly type: 'date' | 'time' | 'datetime' }
  | { readonly type: 'number'; readonly unit?: string; readonly integer?: boolean; readonly decimals?: number }
  | { readonly type: 'duration'; readonly unit?: TimeUnit; readonly integer?: boolean; readonly decimals?: number }

/** A value is a few words: more is not looked through. */
const LONGEST = 400

export function readValue(wanted: ValueType, text: string, context: ReaderContext = {}): ValueReading {
  if (text.length > LONGEST) return { value: null }
  const cleaned = plain(text)
  const first = context.language ?? languageOf(context)
  const own = first && readIn(wanted, cleaned, first, context)
  if (own) return own
  // Another language's words may stand in the text; where several read it, they must agree.
  const others = (Object.keys(LANGUAGES) as LanguageName[]).filter((language) => language !== first)
  const readings = others.flatMap((language) => readIn(wanted, cleaned, language, context) ?? [])
  return agreedReading(readings) ?? { value: null }
}

function readIn(
  wanted: ValueType,
  text: string,
  language: LanguageName,
  context: ReaderContext,
): ValueReading | undefined {
  switch (wanted.type) {
    case 'date':
      return dateIn(text, language, context)?.reading
    case 'time':
      return timeIn(text, language)?.reading
    case 'datetime':
      return datetimeIn(text, language, context)
    case 'duration': {
      const reading = durationIn(text, language, context, wanted.unit ?? 'seconds')
      return reading && rounded(reading, wanted)
    }
    case 'number': {
      const found = quantities(text, language, context)
      const reading = agreedReading(found.map((one) => one.reading))
      if (!reading) return undefined
      const { start, end } = found[0]!
      const { before = '', behind = '' } = context.beside ?? {}
      const [left, right] = [before.toLowerCase() + text.slice(0, start), text.slice(end) + behind.toLowerCase()]
      return rounded(inUnitOf(reading, left, right, wanted.unit), wanted)
    }
  }
}

/** To so many decimals; what should be whole and is not is a guess. */
function rounded(
  { value, guess }: ValueReading<number>,
  { integer = false, decimals }: { readonly integer?: boolean; readonly decimals?: number },
): ValueReading<number> {
  const to = (number: number, places: number) => {
    const text = Math.abs(number).toString()
    // 1.005 is meant to be 1.01, which its bits are not.
    const scaled = Math.round(Number(`${text}e${places}`))
    // What is written with an exponent takes no other.
    const near = /e/.test(`${text}${scaled}`) ? Number(number.toFixed(places)) : Number(`${scaled}e-${places}`)
    return Math.sign(number) * Math.abs(near)
  }
  const fitted = (number: number) => (integer ? to(number, 0) : decimals === undefined ? number : to(number, decimals))
  if (value === null) return guess === undefined ? { value } : unsure(fitted(guess))
  return integer && !Number.isInteger(value) ? unsure(fitted(value)) : { value: fitted(value) }
}
