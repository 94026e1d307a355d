import type { ReaderContext } from './reading.js'
import { ofLast, plain } from './text.js'
import type { LanguageName } from './words/index.js'

/** Words of every sentence: what several languages have tells none of them from another. */
const MARKS: Readonly<Record<LanguageName, readonly string[]>> = Object.fromEntries(
  Object.entries({
    en: 'the and of to is for with are was will by from at this that',
    de: 'der die das und ist den von mit fur im am zum zur nicht ein wir es des du um da was will',
    fr: 'le les et des du est pour dans au aux une nous vous sur avec que nos',
    es: 'el los las y del es para con por al una que su nos sobre',
    it: 'il lo gli di della che per non nel alla sono dal una con al su del da o',
    pt: 'o os do da nao em um uma na ao pelo pela que para por nos sobre',
    nl: 'het een van voor niet zijn bij naar aan wordt deze is was die na om',
  }).map(([name, words]) => [name, words.split(' ')]),
) as Record<LanguageName, string[]>

const LOOKED_AT = 4000

/** By the locale, else by the small words around; undefined where no language has most of them. */
export function languageOf({ locale, around = '' }: ReaderContext): LanguageName | undefined {
  const language = locale === undefined ? undefined : new Intl.Locale(locale).language
  return language !== undefined && language in MARKS ? (language as LanguageName) : byWords(around)
}

/** Of a language that is not among ours, by the locale, else by letters that ours do not have. */
export const isElsewhere = ({ locale, language, around = '' }: ReaderContext): boolean =>
  locale === undefined
    ? language === undefined && hasOtherLetters(around)
    : !(new Intl.Locale(locale).language in MARKS)

const hasOtherLetters = ofLast((text) =>
  /(?![a-zäöüßàâæçéèêëîïôœùûÿñáíóúìòãõªº])\p{sc=Latn}/iu.test(text.slice(0, LOOKED_AT).normalize('NFC')),
)

const byWords = ofLast((text): LanguageName | undefined => {
  const counts = (Object.keys(MARKS) as LanguageName[]).map((name) => ({ name, count: 0 }))
  // "12:15 am" is no German.
  for (const [word] of plain(text.slice(0, LOOKED_AT)).matchAll(/(?<!\d ?)\p{L}+/gu)) {
    for (const one of counts) if (MARKS[one.name].includes(word)) one.count++
  }
  const [first, second] = counts.sort((a, b) => b.count - a.count)
  return first!.count > 2 * second!.count ? first!.name : undefined
})
