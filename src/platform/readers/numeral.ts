/** Numbers in digits: which mark separates what. */
import type { ReaderContext, ValueReading } from './reading.js'
import { sure, unsure } from './reading.js'
import { ofLast } from './text.js'
import { LANGUAGES, type LanguageName } from './words/index.js'

export type DecimalMark = '.' | ','

/** A number as it stands in a text, `1 250,00`: a blank only before three digits. */
export const NUMERAL = String.raw`\d+(?:[.,'٫،]\d+| \d{3}(?!\d))*(?:e[+-]?\d+(?![\p{L}\d]))?`

/** Three digits behind the one mark of a number are thousands or thousandths: without `mark` nothing says which. */
export function numeral(text: string, mark: DecimalMark | undefined): ValueReading<number> | undefined {
  const [digits = '', exponent] = text.replaceAll('،', ',').split('e')
  const marks = digits.replace(/\d/g, '')
  const scaled = (whole: string, part = '') => {
    const value = Number(`${whole}.${part || '0'}e${exponent ?? 0}`)
    return Number.isFinite(value) ? value : undefined
  }
  const reading = (whole: string, part?: string) => {
    const value = scaled(whole, part)
    if (value === undefined) return undefined
    // What begins with zeros is a name or a telephone's.
    if (part === undefined && /^0\d\d/.test(whole)) return unsure(value)
    // Longer than a number can tell apart: another one than the text says.
    return exponent === undefined && Number.isInteger(value) && !Number.isSafeInteger(value)
      ? unsure(value)
      : sure(value)
  }
  if (marks === '') return reading(digits)
  const last = marks.at(-1)!
  const cut = digits.lastIndexOf(last)
  const [head, tail] = [digits.slice(0, cut), digits.slice(cut + 1)]
  const kinds = new Set(marks)
  if (last === ' ' || last === "'") return kinds.size === 1 && grouped(digits) ? reading(bare(digits)) : undefined
  if (kinds.size > 1) {
    const once = marks.indexOf(last) === marks.length - 1
    return kinds.size === 2 && once && grouped(head) ? reading(bare(head), tail) : undefined
  }
  if (marks.length > 1) return grouped(digits) ? reading(bare(digits)) : undefined
  if (tail.length !== 3 || head.length > 3 || head === '' || head === '0') return reading(head, tail)
  if (mark === last || last === '٫') return reading(head, tail)
  return mark === undefined ? unsure(Number(head + tail)) : reading(head + tail)
}

const bare = (digits: string) => digits.replace(/\D/g, '')
/** In threes, or as India writes it. */
const grouped = (digits: string) =>
  /^\d{1,3}(?:[.,' ]\d{3})*$/.test(digits) || /^\d{1,2}(?:,\d{2})*,\d{3}$/.test(digits)

/** By the locale's region, by amounts of money around it, by script or language; undefined: either may be. */
export function decimalMark({ locale, around = '' }: ReaderContext, language: LanguageName): DecimalMark | undefined {
  return (
    (locale === undefined ? undefined : byRegion(locale)) ??
    byMoney(around) ??
    byScript(around) ??
    (LANGUAGES[language] as { decimalMark?: DecimalMark }).decimalMark
  )
}

const byRegion = ofLast((locale): DecimalMark | undefined => {
  if (new Intl.Locale(locale).region === undefined) return undefined
  const parts = new Intl.NumberFormat(locale).formatToParts(1.5)
  const mark = parts.find(({ type }) => type === 'decimal')?.value
  return mark === '.' || mark === ',' ? mark : undefined
})

const MONEY = /\p{Sc}\s?\d[\d.,]*([.,])\d{2}(?!\d)|(?<![\d.,])\d[\d.,]*([.,])\d{2}\s?(?:\p{Sc}|EUR|USD|GBP|CHF)/gu
/** So much of a text is looked at. */
const AROUND = 20_000

const byMoney = ofLast((text): DecimalMark | undefined => {
  const marks = new Set([...text.slice(0, AROUND).matchAll(MONEY)].map(([, before, behind]) => before ?? behind))
  return marks.size === 1 ? ([...marks][0] as DecimalMark) : undefined
})

/** Every country that writes these parts numbers in this way. */
const POINTED =
  /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Hang}\p{sc=Thai}\p{sc=Hebr}\p{sc=Deva}\p{sc=Beng}\p{sc=Guru}\p{sc=Gujr}\p{sc=Taml}\p{sc=Telu}\p{sc=Knda}\p{sc=Mlym}\p{sc=Sinh}]/gu

const byScript = ofLast((text): DecimalMark | undefined => {
  const letters = text.slice(0, AROUND)
  const pointed = letters.match(POINTED)?.length ?? 0
  return pointed > 0 && 2 * pointed > (letters.match(/\p{L}/gu)?.length ?? 0) ? '.' : undefined
})
