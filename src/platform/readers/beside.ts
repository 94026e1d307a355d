/** What stands right beside a reading and makes it a part of another: `9-` of `9-11 am`, `moins dix` of `midi moins dix`. */
import type { Slices } from '../turns.js'
import { type FoundReading, type ReaderContext, unsure } from './reading.js'
import { anyWord, ofWords, plain, rightBefore } from './text.js'
import { UNIT_NAMES } from './units.js'
import { TO_ELSEWHERE } from './words/elsewhere.js'
import type { LanguageName, LanguageWords } from './words/index.js'

/** A time, a length, a date, one without its year, a day of the week, one told from today. */
export type PartKind = 'time' | 'duration' | 'date' | 'yearless' | 'weekday' | 'day'

/** From one number to another, in signs. */
const SIGNS = ['-', '~', '〜', '至', '到', 'から', plain('에서'), '...', '..']
const FAR = TO_ELSEWHERE.map(plain)

/** `5-7`, `5 kg to 7 kg`, `between 5 and 7`, `5/7`: a number of a range, of a score or of a date, and none by itself. */
const rangesOf = ofWords(({ numbers, articles, scales, and, beside }) => {
  const names = Object.keys(numbers).filter((name) => !articles.includes(name))
  const unit = `(?: ?(?:[%‰\\p{Sc}]|°?[cf](?!\\p{L})|[\\p{sc=Han}\\p{sc=Hang}]{1,3}?|${anyWord([...UNIT_NAMES, ...Object.keys(scales)])}))?`
  const words = [...beside.to, ...beside.less].filter((name) => name !== 'of' && !and.includes(name))
  const to = `(?: ?${anyWord([...SIGNS, '+'])} ?| ?${anyWord(['or', ...words, ...FAR])} )`
  const money = String.raw`(?:(?:[\p{Sc}%]|(?<!\p{L})[a-z]{3}) ?)?`
  const last = String.raw`(?:\d|[一二三四五六七八九十]|(?<!\p{L})${anyWord(names)})${unit}`
  const next = String.raw`${money}(?:\d|[一二三四五六七八九十]|${anyWord(names)}(?!\p{L}))`
  const [between, also] = [String.raw`(?<!\p{L})${BETWEEN} ${money}`, `,? ${anyWord(and)} `]
  return {
    left: new RegExp(String.raw`${last}${to}${money}$|\d\/$`, 'u'),
    betweenLeft: new RegExp(`${between}[^|]{0,30}${last}${also}${money}$`, 'u'),
    right: new RegExp(`^${unit}${to}${next}`, 'u'),
    between: new RegExp(`${between}$`, 'u'),
    and: new RegExp(`^${unit}${also}${next}`, 'u'),
  }
})
const BETWEEN = anyWord(['between', 'zwischen', 'entre', 'tra', 'fra', 'tussen'])

const learnt = new WeakSet<LanguageWords>()

/**
 * An engine compiles an expression when it is first asked, V8 once more the next time, which takes these some 20 ms each: a
 * reading asks all of them, in all languages.
 */
export function* learnRanges(words: LanguageWords): Slices<void> {
  if (learnt.has(words)) return
  learnt.add(words)
  for (const expression of Object.values(rangesOf(words))) {
    for (let time = 0; time < 2; time++) {
      expression.test('')
      yield
    }
  }
}

/** By what stands before a number, its sign too, and behind it. */
export function isOfRange(
  before: string,
  behind: string,
  isWhole: boolean,
  words: LanguageWords,
  language: LanguageName | undefined,
): boolean {
  const ranges = rangesOf(words)
  // Elsewhere "4 of 5" says of how many.
  const [left, right] = [before, behind].map((text) => (language === 'nl' ? text.replaceAll(' of ', ' or ') : text))
  return (
    ranges.left.test(left!) ||
    ranges.betweenLeft.test(left!) ||
    ranges.right.test(right!) ||
    (isWhole && /^\/\d/.test(right!)) ||
    (ranges.between.test(left!) && ranges.and.test(right!))
  )
}

const patternsOf = ofWords((words) => {
  const { numbers, articles, parts, units, months, and, clock, beside } = words
  const the = `(?: ${anyWord(beside.the)})*`
  const to = `${anyWord([...SIGNS, '/', '&', ...beside.to, ...FAR])}${the}`
  const from = ` ${anyWord(beside.away)}${the}`
  const working = `^ ${anyWord(beside.working)}`
  const hours = anyWord([
    ...['am', 'pm', 'a.', 'p.', "o'clock", 'in the'],
    ...[...clock.hour, ...units.hours].filter((name) => name.length > 2),
  ])
  const count = String.raw`(?:\d+|${anyWord([...Object.keys(numbers), ...articles])})(?!\p{L})`
  const number = anyWord(Object.keys(numbers).filter((name) => !articles.includes(name)))
  const part = anyWord(Object.keys(parts))
  const unit = anyWord([...Object.values(units).flat(), ...(beside.days ?? [])].filter((name) => name.length > 2))
  const range = String.raw`(?<![\p{L}\d:.,'/-])(?:\d{1,2}(?:\.\d{1,2})?(?:\.|st|nd|rd|th|er|h)?|${number}) ?${to} ?$`
  // "dia 4 as 15:30" is a day and its time.
  const hoursRange = `(?<!(?<!\\p{L})${anyWord(units.days)} )${range}`
  const length = String.raw`^ ?${to} ?\d+(?:[.,]\d+)? ?${anyWord(Object.values(units).flat())}(?!\p{L})`
  const away = String.raw`(?<!\p{L})${unit}\.?`
  const more = String.raw`^,? ${anyWord(beside.less)} |^[\s-](?:${anyWord(and)}[\s-])?(?:(?:le|${anyWord(articles)}) )?(?:${part}|${number})(?!\p{L})`
  const another = String.raw`^(?: ?${to}|,)? ?\d{1,2}(?:st|nd|rd|th|er)?(?![\d:.h]| ?${hours})|^ ?${to} .{0,16}(?<!\d)\d{4}(?!\d)`
  const pair = (left: string, right: string) => [new RegExp(left, 'u'), new RegExp(right, 'u')] as const
  return {
    time: pair(
      String.raw`${hoursRange}|${away}${from} $|(?<!\p{L})${part} $`,
      String.raw`${more}|^ ${anyWord(beside.long)}|^ ?${to} ?\d{1,2}(?![\d:./h-]| ?\p{L})`,
    ),
    duration: pair(`${range}|${rangesOf(words).left.source}`, `${more}|${working}|${length}`),
    date: pair(`${range}|${away}${from} $`, String.raw`^/\d\d?(?![\d/])`),
    yearless: pair(
      String.raw`${range}|${away}${from} $|(?<!\d)\d{4}[ ,/-]*$|(?<!\d)(?:19|20)\d\d[^\d|]{0,8}$`,
      another,
    ),
    weekday: pair('(?!)', String.raw`^ (?:of|in|im|del?|du|des|di) (?:the )?${anyWord(months.flat())}(?!\p{L})`),
    day: pair(
      `${away}(?: ago)?(?:${from})? $`,
      String.raw`${working}|^ (?:week(?!\p{L})|\+|en (?:huit|quinze|ocho)|(?:in|vor|en|hace|hizo|il y a|dans) ${count} )`,
    ),
  }
})

/** Beside such words a reading is a guess. */
export function besides<T>(
  kind: PartKind,
  text: string,
  found: FoundReading<T>,
  words: Parameters<typeof patternsOf>[0],
  { beside }: ReaderContext,
): FoundReading<T> {
  const { value } = found.reading
  const [left, right] = patternsOf(words)[kind]
  const isPart =
    left.test((beside?.before ?? '') + rightBefore(text, found.start)) ||
    right.test(text.slice(found.end) + (beside?.behind ?? ''))
  return isPart && value !== null ? { ...found, reading: unsure(value) } : found
}
