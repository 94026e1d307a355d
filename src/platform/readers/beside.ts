/** What stands right beside a reading and makes it a part of another: `9-` of `9-11 am`, `moins dix` of `midi moins dix`. */
import { type FoundReading, type ReaderContext, unsure } from './reading.js'
import { anyWord, ofWords } from './text.js'

/** A time, a length, a date, one without its year, a day of the week, one told from today. */
export type PartKind = 'time' | 'duration' | 'date' | 'yearless' | 'weekday' | 'day'

const TO =
  '(?:-|/|&|to|through|till|until|or|and|bis|oder|und|al?|au|o|u|y|ou|et|e|hasta|ate|t/m|tot|tot en met|of|en|past|before|after|vor|nach)(?: (?:the|den|dem|der|le|las?|el|il|del?|du))*'
const AWAY =
  ' (?:after|before|from|following|of|nach|vor|vom|ab|apres|avant|a compter|a partir|despues|antes|depois|apos|dopo|prima|na|voor|du|del?|di)(?: (?:the|den|dem|le|la|du|del?|el|il))*'
const OTHER_UNITS = ['giorni', 'mesi', 'settimane', 'dagen', 'weken', 'maanden', 'veille', 'lendemain', 'vispera']
const OTHER_PARTS = ['meia', 'meio', 'mezza', 'mezzo', 'kwart', 'quarto']
const LESS = '(?:less|minus|moins|menos|meno|weniger)'
const HOURS = "(?:am|pm|[ap]\\.|uhr|uur|ore|heures?|horas?|o'clock|in the)"

const patternsOf = ofWords(({ numbers, articles, parts, units, months, and }) => {
  const count = String.raw`(?:\d+|${anyWord([...Object.keys(numbers), ...articles])})(?!\p{L})`
  const number = anyWord(Object.keys(numbers).filter((name) => !articles.includes(name)))
  const part = anyWord([...Object.keys(parts), ...OTHER_PARTS])
  const unit = anyWord([...Object.values(units).flat(), ...OTHER_UNITS].filter((name) => name.length > 2))
  const range = String.raw`(?<![\p{L}\d:.,'/-])(?:\d{1,2}(?:\.\d{1,2})?(?:\.|st|nd|rd|th|er|h)?|${number}) ?${TO} ?$`
  const away = String.raw`(?<!\p{L})${unit}\.?`
  const more = String.raw`^,? ${LESS} |^[\s-](?:${anyWord(and)}[\s-])?(?:(?:le|${anyWord(articles)}) )?(?:${part}|${number})(?!\p{L})|^ (?:e|en|i) ${count}|^ (?:e|en|i) ${part}`
  const working = '^ (?:ouvr|habil|labor|utei|util|lavorat|business|working)'
  const another = String.raw`^(?: ?${TO}|,)? ?\d{1,2}(?:st|nd|rd|th|er)?(?![\d:.h]| ?${HOURS})|^ ?${TO} .{0,16}(?<!\d)\d{4}(?!\d)`
  const pair = (left: string, right: string) => [new RegExp(left, 'u'), new RegExp(right, 'u')] as const
  return {
    time: pair(
      String.raw`${range}|${away}${AWAY} $|(?<!\p{L})${part} $`,
      String.raw`${more}|^ ?${TO} ?\d{1,2}(?![\d:./h-]| ?\p{L})`,
    ),
    duration: pair(range, `${more}|${working}`),
    date: pair(`${range}|${away}${AWAY} $`, '(?!)'),
    yearless: pair(String.raw`${range}|${away}${AWAY} $|(?<!\d)\d{4}[ ,/-]*$`, another),
    weekday: pair('(?!)', String.raw`^ (?:of|in|im|del?|du|des|di) (?:the )?${anyWord(months.flat())}(?!\p{L})`),
    day: pair(
      `${away}(?: ago)?(?:${AWAY})? $`,
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
    left.test((beside?.before ?? '') + text.slice(0, found.start)) ||
    right.test(text.slice(found.end) + (beside?.behind ?? ''))
  return isPart && value !== null ? { ...found, reading: unsure(value) } : found
}
