/** What stands right beside a reading and makes it a part of another: `9-` of `9-11 am`, `moins dix` of `midi moins dix`. */
import { type FoundReading, type ReaderContext, unsure } from './reading.js'
import { anyWord, ofWords, rightBefore } from './text.js'

/** A time, a length, a date, one without its year, a day of the week, one told from today. */
export type PartKind = 'time' | 'duration' | 'date' | 'yearless' | 'weekday' | 'day'

const patternsOf = ofWords(({ numbers, articles, parts, units, months, and, clock, beside }) => {
  const the = `(?: ${anyWord(beside.the)})*`
  const to = `${anyWord(['-', '/', '&', ...beside.to])}${the}`
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
  const away = String.raw`(?<!\p{L})${unit}\.?`
  const more = String.raw`^,? ${anyWord(beside.less)} |^[\s-](?:${anyWord(and)}[\s-])?(?:(?:le|${anyWord(articles)}) )?(?:${part}|${number})(?!\p{L})`
  const another = String.raw`^(?: ?${to}|,)? ?\d{1,2}(?:st|nd|rd|th|er)?(?![\d:.h]| ?${hours})|^ ?${to} .{0,16}(?<!\d)\d{4}(?!\d)`
  const pair = (left: string, right: string) => [new RegExp(left, 'u'), new RegExp(right, 'u')] as const
  return {
    time: pair(
      String.raw`${hoursRange}|${away}${from} $|(?<!\p{L})${part} $`,
      String.raw`${more}|^ ${anyWord(beside.long)}|^ ?${to} ?\d{1,2}(?![\d:./h-]| ?\p{L})`,
    ),
    duration: pair(range, `${more}|${working}`),
    date: pair(`${range}|${away}${from} $`, '(?!)'),
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
