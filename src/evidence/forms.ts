/** How texts write the values of documents, as patterns: whatever a pattern finds reads to its value. */
import { dayOfIso } from '../readers/calendar.js'
import { LANGUAGES } from '../readers/words/index.js'

/** No form of a string is looked for that is longer. */
const LONGEST_STRING = 200
/** Digits of a number's whole part. */
const MOST_DIGITS = 21

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')

/** In other letters, or with other blanks between its words. */
export function formsOfString(value: string): RegExp | undefined {
  const words = value.trim().split(/\s+/)
  if (value.length > LONGEST_STRING) return undefined
  return new RegExp(inText(words.map(escaped).join('\\s+')), 'giu')
}

/** With marks between its thousands or without, either mark before its decimals, and zeros behind them. */
export function formsOfNumber(value: number): RegExp | undefined {
  const plain = Math.abs(value).toString()
  const sign = value < 0 ? '[-\\u2212]' : '(?<![-\\u2212])'
  const [whole = '', decimals = ''] = plain.split('.')
  if (whole.length > MOST_DIGITS || plain.includes('e')) return new RegExp(alone(escaped(value.toString())), 'gu')
  const grouped = thousands(whole)
  const written = ['', ',', '.', "['\\u2019]", '[ \\u00a0\\u2009\\u202f]'].flatMap((mark) => {
    if (mark !== '' && grouped.length === 1) return []
    // The mark before the decimals is not the one between thousands.
    const before = mark === ',' ? '\\.' : mark === '.' ? ',' : '[.,]'
    // Three digits behind one mark may be thousands: only where thousands are marked is it known that they are not.
    const zeros =
      decimals === '' && mark === '' ? `(?:${before}(?:0|00|0{4,}))?` : decimals === '' ? `(?:${before}0+)?` : ''
    const behind = decimals === '' ? zeros : `${before}${decimals}0*`
    return [`${grouped.join(mark)}${behind}`]
  })
  return new RegExp(alone(`${sign}(?:${written.join('|')})`), 'gu')
}

const thousands = (digits: string): string[] => {
  const first = digits.length % 3
  const rest = digits.slice(first).match(/\d{3}/g) ?? []
  return first === 0 ? rest : [digits.slice(0, first), ...rest]
}

/** A day, `2026-03-12`: with the name of its month or its number, with its year or without. */
export function formsOfDate(value: string): RegExp | undefined {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(value) || dayOfIso(value) === undefined) return undefined
  const [year, month, day] = value.split('-') as [string, string, string]
  const d = `0?${Number(day)}`
  const m = `0?${Number(month)}`
  const y = `(?:${year}|['\\u2019]?${year.slice(2)})`
  const languages = Object.values(LANGUAGES)
  const name = anyOf(languages.flatMap(({ months }) => months[Number(month) - 1]!))
  const ordinal = `(?:${anyOf(languages.flatMap(({ ordinals }) => ordinals))}|\\.)?`
  const of = `(?:\\s+${anyOf(languages.flatMap(({ of }) => of))})?`
  // Another year is another day.
  const noYear = `(?!${of}[\\s,-]*\\d{4}(?!\\d))`
  const written = [
    `${d}${ordinal}${of}\\s*[- ]?${name}\\.?(?:${of}\\s*[-,]?\\s*${y}|${noYear})`,
    `${name}\\.?\\s+(?:the\\s+)?${d}${ordinal}(?:\\s*,?\\s+${year}|${noYear})`,
    `${year}(?<a>[-/.])${m}\\k<a>${d}`,
    `${d}(?<b>[-/.])${m}\\k<b>${y}`,
    `${m}(?<c>[-/.])${d}\\k<c>${y}`,
  ]
  return new RegExp(inText(`(?:${written.join('|')})`), 'giu')
}

const VOWELS: Readonly<Record<string, string>> = { a: 'aàáâä', e: 'eéèêë', i: 'iíîï', o: 'oóôö', u: 'uùúûü', c: 'cç' }

/** Words of the readers, which have no accents, as texts may write them. */
function anyOf(words: readonly string[]): string {
  const longest = [...new Set(words)].sort((a, b) => b.length - a.length)
  const spelled = longest.map((word) => escaped(word).replace(/[aeiouc]/g, (letter) => `[${VOWELS[letter]}]`))
  return `(?:${spelled.join('|')})`
}

/** Neither beginning nor ending within a word. */
const inText = (pattern: string): string => `(?<![\\p{L}\\p{M}\\p{N}])(?:${pattern})(?![\\p{L}\\p{M}\\p{N}])`

/** Nor within a number. */
const alone = (pattern: string): string =>
  `(?<![\\p{L}\\p{N}])(?<!\\p{N}[.,'\\u2019])(?:${pattern})(?!\\p{L}*\\p{N})(?![.,'\\u2019]\\p{N})`
