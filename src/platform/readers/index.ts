/** Values as people write them, read without guessing: what a text does not say in one way is null, with a guess. */
import { isOfRange } from './beside.js'
import { dateIn } from './date.js'
import { datetimeIn } from './datetime.js'
import { durationIn } from './duration.js'
import { languageOf } from './language.js'
import { quantities } from './quantities.js'
import { agreedReading, type LanguageReading, type ReaderContext, unsure, type ValueReading } from './reading.js'
import { plain, plainPlaces } from './text.js'
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
/** `12M` of people, or of metres; `$12M` is read. */
const SCALED =
  /(?<!(?:\p{Sc}|EUR|USD|GBP|CHF)\s?-?[\p{Nd}.,٫]*)\p{Nd}(?:\s?[MB]|\sK)(?!\s?(?:\p{Sc}|EUR|USD|GBP|CHF)|[\p{L}\d])|\p{Nd}\s?T(?![\p{L}\d])/u

export function readValue(wanted: ValueType, text: string, context: ReaderContext = {}): ValueReading {
  if (text.length > LONGEST) return { value: null }
  const cleaned = plain(text)
  const first = context.language ?? languageOf(context)
  const known = { ...context, language: undefined, ...(context.beside && { beside: lineOf(context.beside) }) }
  const own = first && readIn(wanted, cleaned, first, { ...known, language: first })
  // Another language's words may stand in the text; where several read it, they must agree.
  const others = (Object.keys(LANGUAGES) as LanguageName[]).filter((language) => language !== first)
  const readings = own ? [own] : others.flatMap((language) => readIn(wanted, cleaned, language, known) ?? [])
  const most = Math.max(...readings.map(({ read }) => read))
  const reading = agreedReading(readings.flatMap((one) => (one.read < most ? [] : one.reading))) ?? { value: null }
  const isOpen = wanted.type === 'number' && wanted.unit === undefined && SCALED.test(text)
  // A word of another language than the text's may be one of this too.
  const isForeign = !own && first !== undefined && /^(?:number|duration)$/.test(wanted.type) && !/\d/.test(cleaned)
  return (isOpen || isForeign) && reading.value !== null ? unsure(reading.value) : reading
}

/** Of the same line, or cell of a table; of a long one what is near: each number of the value asks for it. */
function lineOf({ before, behind }: NonNullable<ReaderContext['beside']>) {
  const left = before
    .slice(-LONGEST)
    .split(/[\n\t|]/)
    .at(-1)!
  const right = behind.slice(0, LONGEST).split(/[\n\t|]/)[0]!
  return { before: plainPlaces(left, 0, left.length).plain, behind: plainPlaces(right, 0, right.length).plain }
}

function readIn(
  wanted: ValueType,
  text: string,
  language: LanguageName,
  context: ReaderContext,
): LanguageReading | undefined {
  switch (wanted.type) {
    case 'date':
      return whole(dateIn(text, language, context))
    case 'time':
      return whole(timeIn(text, language, context))
    case 'datetime':
      return datetimeIn(text, language, context)
    case 'duration': {
      const one = durationIn(text, language, context, wanted.unit ?? 'seconds')
      return one && { reading: rounded(one.reading, wanted), read: one.read }
    }
    case 'number': {
      const found = quantities(text, language, context)
      const reading = agreedReading(found.map((one) => one.reading))
      if (!reading) return undefined
      const { start, end } = found[0]!
      const { before = '', behind = '' } = context.beside ?? {}
      const said = text.slice(start, end)
      // Its sign may stand before its unit: `-$5`.
      const sign = /^\D*(?=\d)/.exec(said)?.[0] ?? ''
      const [left, right] = [before + text.slice(0, start) + sign, text.slice(end) + behind]
      const isShort = /\dk$/.test(said.replace(' ', ''))
      const isPart = isOfRange(left, right, /^\D*\d+$/.test(said), LANGUAGES[language], context.language)
      // Digits are what they are, whichever word of a language stands behind them.
      const read = /\d/.test(text) ? 0 : found.reduce((sum, { start, end }) => sum + end - start, 0)
      const one = inUnitOf(reading, left, right, wanted.unit, isShort)
      return { reading: rounded(isPart && one.value !== null ? unsure(one.value) : one, wanted), read }
    }
  }
}

const whole = (found: { readonly reading: ValueReading } | undefined) => found && { reading: found.reading, read: 0 }

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
