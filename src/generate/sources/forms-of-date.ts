/** How texts write days. Apart from other forms: it brings the words of languages, and is loaded once it is asked for. */
import { dayOfIso, LANGUAGES, type LanguageWords } from '../../platform/index.js'
import { inText, literally } from './forms.js'

/** A day, `2026-03-12`: with the name of its month or its number, with its year or without. */
export function formsOfDate(value: string): RegExp | undefined {
  if (dayOfIso(value) === undefined) return undefined
  const [year, month, day] = value.split('-') as [string, string, string]
  const d = `0?${Number(day)}`
  const m = `0?${Number(month)}`
  const y = `(?:${year}|['\\u2019]?${year.slice(2)})`
  const languages = Object.values<LanguageWords>(LANGUAGES)
  // "12 out of 20" is no day of October.
  const name = anyOf(
    languages.flatMap(({ months, alike = [] }) => months[Number(month) - 1]!.filter((one) => !alike.includes(one))),
  )
  const ordinal = `(?:${anyOf(languages.flatMap(({ ordinals }) => ordinals))}|\\.)?`
  const of = `(?:\\s+${anyOf(languages.flatMap(({ of }) => of))})?`
  // Another year is another day; what begins a day in digits is none.
  const noYear = `(?!${of}[\\s,-]*(?:\\d{4}|['\\u2019]\\d{2})(?![-/.]?\\d))`
  const written = [
    `${d}${ordinal}${of}\\s*[- ]?${name}\\.?(?:${of}\\s*(?:[-,]\\s*)?${y}|${noYear})`,
    `${name}\\.?\\s+(?:the\\s+)?${d}${ordinal}(?:(?:\\s*,)?\\s+${year}|${noYear})`,
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
  const spelled = longest.map((word) => literally(word).replace(/[aeiouc]/g, (letter) => `[${VOWELS[letter]}]`))
  return `(?:${spelled.join('|')})`
}
