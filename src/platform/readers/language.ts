import type { ReaderContext } from './reading.js'
import { plain } from './text.js'
import { LANGUAGES, type LanguageName } from './words/index.js'

/** LanguageWords that only one of the languages has, and has in every sentence. */
const MARKS: Readonly<Record<LanguageName | Other, readonly string[]>> = {
  en: ['the', 'and', 'of', 'to', 'is', 'for', 'with', 'are', 'was', 'will', 'by', 'from', 'at', 'this', 'that'],
  de: ['der', 'die', 'das', 'und', 'ist', 'den', 'von', 'mit', 'fur', 'im', 'am', 'zum', 'zur', 'nicht', 'ein', 'wir'],
  fr: ['le', 'les', 'et', 'des', 'du', 'est', 'pour', 'dans', 'au', 'aux', 'une', 'nous', 'vous', 'sur', 'avec'],
  es: ['el', 'los', 'las', 'y', 'del', 'es', 'para', 'con', 'por', 'al', 'una', 'que', 'su', 'nos', 'sobre'],
  it: ['il', 'lo', 'gli', 'di', 'della', 'che', 'per', 'non', 'nel', 'alla', 'sono', 'dal'],
  pt: ['o', 'os', 'do', 'da', 'nao', 'em', 'um', 'uma', 'na', 'ao', 'pelo', 'pela'],
  nl: ['het', 'een', 'van', 'voor', 'niet', 'zijn', 'bij', 'naar', 'aan', 'wordt', 'deze'],
}
/** Known by their marks, so that their numbers are not read as words of another. */
type Other = 'it' | 'pt' | 'nl'

const LOOKED_AT = 4000

/** By the locale, else by the small words around; undefined where no language has most of them. */
export function languageOf({ locale, around = '' }: ReaderContext): LanguageName | 'other' | undefined {
  const language = locale === undefined ? undefined : new Intl.Locale(locale).language
  if (language !== undefined && language in MARKS) return read(language as LanguageName | Other)
  const counts = (Object.keys(MARKS) as (LanguageName | Other)[]).map((name) => ({ name, count: 0 }))
  // "12:15 am" is no German.
  for (const [word] of plain(around.slice(0, LOOKED_AT)).matchAll(/(?<!\d ?)\p{L}+/gu)) {
    for (const one of counts) if (MARKS[one.name].includes(word)) one.count++
  }
  const [first, second] = counts.sort((a, b) => b.count - a.count)
  return first!.count > 2 * second!.count ? read(first!.name) : undefined
}

const read = (name: LanguageName | Other) => (name in LANGUAGES ? (name as LanguageName) : 'other')
