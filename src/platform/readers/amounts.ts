/** So much time: a number and its unit, as often as they follow each other. */
import { quantities } from './quantities.js'
import type { ReaderContext, ValueReading } from './reading.js'
import { sure } from './reading.js'
import { anyWord, ofWords } from './text.js'
import { LANGUAGES, type LanguageName, type TimeUnit } from './words/index.js'

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

const patternsOf = ofWords(({ units, half, articles }) => {
  const names = new Map(
    (Object.entries(units) as [TimeUnit, readonly string[]][]).flatMap(([unit, words]) =>
      words.map((word) => [word, unit] as const),
    ),
  )
  const unitWord = String.raw`(${anyWord(names.keys())})\.?(?!\p{L})`
  const ofOne = (words: readonly string[]) =>
    new RegExp(String.raw`(?<![\p{L}\d])${anyWord(words)}(?:\s|(?<=-))${unitWord}`, 'gu')
  return {
    names,
    oneAndHalf: ofOne(half.oneAndHalf),
    half: ofOne(half.one),
    article: ofOne(articles),
    behind: new RegExp(String.raw`\s?-?${unitWord}`, 'uy'),
    more: new RegExp(String.raw`\s${anyWord(half.more)}(?!\p{L})`, 'uy'),
  }
})

export function amountsIn(text: string, language: LanguageName, context: ReaderContext): Amounts {
  const { names, oneAndHalf, half, article, behind, more } = patternsOf(LANGUAGES[language])
  const amounts: Amount[] = []
  const numbers = quantities(text, language, context)
  const taken = (start: number, end: number) => amounts.some((one) => one.start < end && start < one.end)
  const add = (pattern: RegExp, count: number) => {
    for (const match of text.matchAll(pattern)) {
      const end = match.index + match[0].length
      // "two and a half hours" are no half.
      const within = numbers.some((one) => one.start < match.index && match.index < one.end)
      if (!within && !taken(match.index, end)) {
        amounts.push({ count: sure(count), unit: names.get(match[1]!)!, start: match.index, end })
      }
    }
  }
  add(oneAndHalf, 1.5)
  add(half, 0.5)
  let rest = false
  for (const { reading, start, end } of numbers) {
    if (taken(start, end)) continue
    behind.lastIndex = end
    const unit = behind.exec(text)?.[1]
    const before = amounts.find((one) => one.unit === 'hours' && one.end === start)
    if (unit !== undefined) amounts.push({ count: reading, unit: names.get(unit)!, start, end: behind.lastIndex })
    // `2h30`
    else if (before && /^\d\d$/.test(text.slice(start, end)))
      amounts.push({ count: reading, unit: 'minutes', start, end })
    else rest = true
  }
  add(article, 1)
  const whole = amounts.map((amount) => {
    more.lastIndex = amount.end
    const { value } = amount.count
    return value !== null && more.test(text)
      ? { ...amount, count: sure(value + 0.5), end: more.lastIndex || amount.end }
      : amount
  })
  return { amounts: whole.sort((a, b) => a.start - b.start), rest }
}
