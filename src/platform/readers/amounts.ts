/** So much time: a number and its unit, as often as they follow each other. */
import { isElsewhere } from './language.js'
import { quantities } from './quantities.js'
import type { ReaderContext, ValueReading } from './reading.js'
import { sure, unsure } from './reading.js'
import { anyWord, fraction, fractionIn, moreIn, ofWords } from './text.js'
import { inAll, LANGUAGES, type LanguageName, type TimeUnit } from './words/index.js'

export interface Amount {
  readonly count: ValueReading<number>
  readonly unit: TimeUnit
  readonly start: number
  readonly end: number
}

/** What stands in a text, and whether a number of it has no unit. */
export interface Amounts {
  readonly amounts: readonly Amount[]
  readonly rest: boolean
}

const patternsOf = ofWords((words) => {
  const { units, articles, partOf } = words
  const names = new Map(
    (Object.entries(units) as [TimeUnit, readonly string[]][]).flatMap(([unit, words]) =>
      words.map((word) => [word, unit] as const),
    ),
  )
  const unitWord = String.raw`(${anyWord(names.keys())})\.?(?!\p{L})`
  return {
    names,
    // "half an hour", "drei viertel Stunden", "Viertelstunde"
    part: new RegExp(
      String.raw`(?<![\p{L}\d]|\p{L}-)${fractionIn(words)}(?:\s|-|(?=\p{L}{3})|\s${anyWord(partOf)}\s?)${unitWord}`,
      'gu',
    ),
    article: new RegExp(String.raw`(?<![\p{L}\d])${anyWord(articles)}(?:\s|(?<='))${unitWord}`, 'gu'),
    ofOne: new RegExp(String.raw`^${anyWord(articles)}(?:\s|(?<='))`, 'u'),
    behind: new RegExp(String.raw`\s?-?${unitWord}`, 'uy'),
    more: moreIn(words),
  }
})

/** `2 hours and 30 minutes`. */
export const BETWEEN_AMOUNTS = new RegExp(`^,? ?(?:${anyWord(inAll(({ and }) => and))} )?$`, 'u')

const MINUTES: ReadonlySet<number> = new Set(Array(60).keys())

export function amountsIn(text: string, language: LanguageName, context: ReaderContext): Amounts {
  const words = LANGUAGES[language]
  const { names, part, article, ofOne, behind, more } = patternsOf(words)
  const amounts: Amount[] = []
  const numbers = quantities(text, language, context)
  const taken = (start: number, end: number) => amounts.some((one) => one.start < end && start < one.end)
  const add = (pattern: RegExp, countOf: (match: RegExpExecArray) => number) => {
    for (const match of text.matchAll(pattern)) {
      const end = match.index + match[0].length
      // "two and a half hours" are no half.
      const within = numbers.some((one) => one.start < match.index && match.index < one.end)
      if (within || taken(match.index, end)) continue
      amounts.push({ count: sure(countOf(match)), unit: names.get(match.at(-1)!)!, start: match.index, end })
    }
  }
  add(part, (match) => fraction(match, words))
  add(article, () => 1)
  let rest = false
  for (const { reading, start, end } of numbers) {
    if (taken(start, end)) continue
    behind.lastIndex = end
    const unit = behind.exec(text)?.[1]
    // "1 hour 20", and no "1 hour 20 guests"
    const alone = text[start - 1] === ' ' && !/^ ?\p{L}/u.test(text.slice(end) + (context.beside?.behind ?? ''))
    const minutes = reading.value ?? reading.guess ?? 60
    const near = start - (alone ? 1 : 0)
    const before = amounts.find((one) => one.unit === 'hours' && (one.end === start || one.end === near))
    // `2h` are weeks in Turkish, `3 hr` days in Indonesian.
    const isShort = unit !== undefined && unit.length < 3 && reading.value !== null && isElsewhere(context)
    const count = isShort ? unsure(reading.value) : reading
    if (unit !== undefined) amounts.push({ count, unit: names.get(unit)!, start, end: behind.lastIndex })
    // `2h30`, "une heure vingt"
    else if (before && /^(?:[0-5]\d|\D+)$/.test(text.slice(start, end)) && MINUTES.has(minutes))
      amounts.push({ count: sure(minutes), unit: 'minutes', start, end })
    else rest = true
  }
  // "2 hours a day" are no day and two hours.
  const own = amounts.filter(({ start }) => !(ofOne.test(text.slice(start)) && taken(start - 2, start - 1)))
  const whole = own.map((amount) => {
    more.lastIndex = amount.end
    const { value } = amount.count
    const share = value === null ? null : more.exec(text)
    return share ? { ...amount, count: sure(value! + fraction(share, words)), end: more.lastIndex } : amount
  })
  return { amounts: whole.sort((a, b) => a.start - b.start), rest }
}
