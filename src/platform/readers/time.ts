import { besides } from './beside.js'
import { agreedReading, type FoundReading, type ReaderContext, sure, unsure, type ValueReading } from './reading.js'
import { anyWord, blanked, ofWords, plain, rightBefore, wholeWords } from './text.js'
import { EVENINGS_ELSEWHERE, HALVES_ELSEWHERE } from './words/elsewhere.js'
import { LANGUAGES, type LanguageName, type LanguageWords } from './words/index.js'

/** The time of day that a text says, `HH:MM` or `HH:MM:SS`, and the text without it. */
export function timeIn(
  text: string,
  language: LanguageName,
  context: ReaderContext,
): { readonly reading: ValueReading<string>; readonly rest: string } | undefined {
  const { times, rest } = found(text, language, context)
  const reading = agreedReading(times.map((one) => one.reading))
  return reading && { reading, rest }
}

/** Where a text says a time of day. */
export const timesIn = (
  text: string,
  language: LanguageName,
  context: ReaderContext,
): readonly FoundReading<string>[] => found(text, language, context).times

const HALVES =
  '(?:afternoon|evening|tonight|night|nachmittags?|abends?|nachts?|mittags|apres-midi|soir|soiree|tarde|noche|sera|stasera|pomeriggio|notte|noite|tarde|middag|namiddag|avond|vanavond|vanmiddag)(?!\\p{L})'
const HALF_DAY = new RegExp(`(?<!\\p{L})${HALVES}`, 'u')
const [AM, PM, LATER] = [HALVES_ELSEWHERE.am, HALVES_ELSEWHERE.pm, HALVES_ELSEWHERE.later].map((names) =>
  names.split(' ').map(plain),
)
/** Behind an hour it is that one's: `10 pm 6:30`. */
const before = (names: readonly string[]) =>
  new RegExp(String.raw`(?<!\p{L}(?<!\p{sc=Han})|(?<![\d/.:-])\d{1,2}(?::\d\d)? ?)${anyWord(names)}\.? ?$`, 'u')
const [AM_BEFORE, PM_BEFORE, LATER_BEFORE] = [before(['am', ...AM!]), before(['pm', ...PM!]), before(LATER!)]
const EVENING = String.raw`(?:${anyWord([...EVENINGS_ELSEWHERE, 'بعد الظهر', 'بعد از ظهر', 'ng gabi'].map(plain))}\p{L}*|este|du\.)`
const EVENING_BEFORE = new RegExp(String.raw`(?<!\p{L})${EVENING},?(?: \p{L}{1,3}){0,2} ?$`, 'u')
const LATER_BEHIND = new RegExp(
  String.raw`^ ?(?:\p{L}{1,3}\.? ){0,2}(?:${anyWord([...LATER!, 'odp', 'ch'])}(?!\p{L})|(?!este)${EVENING})`,
  'u',
)

/** With a half of the day before it, or behind it in another language. */
function halved({ value, guess }: ValueReading<string>, left: string, right: string): ValueReading<string> {
  const likely = value ?? guess
  if (likely === undefined) return { value: null }
  const [h, m, s] = likely.split(':') as [string, string, string?]
  if (PM_BEFORE.test(left)) return timeOf(h, m, s, 'pm')
  // "am 12:20" is German.
  if (AM_BEFORE.test(left) && h === '12') return unsure(`00${likely.slice(2)}`)
  const isLater = (LATER_BEFORE.test(left) || EVENING_BEFORE.test(left) || LATER_BEHIND.test(right)) && Number(h) < 13
  return isLater
    ? unsure(h === '12' ? likely : timeOf(h, m, s, 'pm').value!)
    : { value, ...(guess !== undefined && { guess }) }
}

const NEAR_BEFORE = new RegExp(String.raw`(?<!\p{L})${HALVES},?(?: \p{L}{1,3}){0,2} $`, 'u')
const NEAR_BEHIND = new RegExp(String.raw`^,? (?:\p{L}{1,3} ){0,2}${HALVES}`, 'u')

/** `John 3:16`, `a ratio of 16:10`: a place in a book, or one to another. */
const NO_CLOCK =
  /(?<!\p{L})(?:gen(?:esis)?|genese|exodus|exode|exodo|isaiah|jesaja|psal(?:ms?|me?n?|mos?)|psaumes?|salm[io]s?|proverbs|matth?(?:ew|aus|ieu|eus)?|matte[uo]s?|mark(?:us)?|mar[ck]os?|marc|lu[ck](?:e|as)?|joh(?:n|annes)|jean|juan|joao|giovanni|acts|rom(?:ans|er|ains|anos|ani)|corinthians|korinther|hebrews|james|peter|revelation|ratio|odds|score|scale|verses?|massstab|verhaltnis)(?: of)?\.? $/u

/** Of the first half of the day, where the words beside it say the second. */
function laterToo(reading: ValueReading<string>): ValueReading<string> {
  const hour = Number(reading.value?.slice(0, 2) ?? 12)
  return hour > 0 && hour < 12 ? unsure(`${hour + 12}${reading.value!.slice(2)}`) : reading
}

/** Of `p.m.`, what stands behind its first letter. */
const HALF_SPELLED = /\. ?m\b\.?/y

function found(text: string, language: LanguageName, context: ReaderContext) {
  let rest = text.replace(/\b([ap])\. ?m(?:\.|\b)/g, (all, half: string) => `${half}m`.padEnd(all.length))
  const times: FoundReading<string>[] = []
  for (const { pattern, read } of patternsOf(LANGUAGES[language])) {
    for (const match of rest.matchAll(pattern)) {
      const end = match.index + match[0].length
      HALF_SPELLED.lastIndex = end - 1
      const spelled = HALF_SPELLED.test(text)
      const one = { reading: read(match), start: match.index, end: spelled ? HALF_SPELLED.lastIndex : end }
      const left = (context.beside?.before ?? '') + rightBefore(text, one.start)
      const isSaid = /\p{L}/u.test(match[0])
      const isElse = !isSaid && NO_CLOCK.test(left)
      const reading = isSaid
        ? one.reading
        : halved(one.reading, left, text.slice(one.end) + (context.beside?.behind ?? ''))
      const likely = { ...one, reading: isElse && reading.value !== null ? unsure(reading.value) : reading }
      times.push(besides('time', rest, likely, LANGUAGES[language], context))
      rest = blanked(rest, one.start, one.end)
    }
  }
  // "tonight at 8:00", "1 Uhr mittags"
  const { before = '', behind = '' } = context.beside ?? {}
  const half = NEAR_BEFORE.test(before) || NEAR_BEHIND.test(behind) || HALF_DAY.test(rest)
  return { times: half ? times.map((one) => ({ ...one, reading: laterToo(one.reading) })) : times, rest }
}

interface Pattern {
  readonly pattern: RegExp
  read(match: RegExpExecArray): ValueReading<string>
}

const patternsOf = ofWords((words: LanguageWords): readonly Pattern[] => {
  const { am, pm, night, hour, names, spoken, counted, lasting } = words.clock
  const half = String.raw`(?:\s?(${anyWord([...am, ...pm, ...night, ...AM!, ...PM!])}))`
  const halfOf = (said: string | undefined): Half | undefined =>
    said === undefined
      ? undefined
      : am.includes(said) || AM!.includes(said)
        ? 'am'
        : night.includes(said)
          ? 'night'
          : 'pm'
  const mark = anyWord(hour)
  const minutes = String.raw`([0-5]\d|\d(?! ?\p{L}))`
  // "half past 3 pm" is not 3 pm.
  const spokenHour = String.raw`(\d{1,2}|${anyWord([...Object.keys(words.numbers), ...Object.keys(names)])})(?:\s?${mark})?`
  const spokenOf = (name: string, from: number, said: string | undefined) =>
    names[name] === undefined
      ? spokenTime(words.numbers[name] ?? Number(name), from, halfOf(said))
      : spokenTime(12, from, names[name] === '12:00' ? 'pm' : 'am')
  const fives = anyWord(Object.keys(words.numbers).filter((name) => [5, 10, 20].includes(words.numbers[name]!)))
  const patterns: Pattern[] = [
    ...Object.entries(counted).map(([phrase, sign]) => ({
      pattern: wholeWords(
        `${phrase.replace('M', String.raw`(\d{1,2}|${fives})`).replace('F', `(${fives})`).replace('H', spokenHour)}${half}?`,
      ),
      read: ([, count, name, said]: RegExpExecArray) => {
        const from = sign * (words.numbers[count!] ?? Number(count))
        const { value, guess } = spokenOf(name!, from, said)
        const likely = value ?? guess
        // "ten to 3 pm" may be hours of business.
        return likely === undefined ? { value: null } : unsure(likely)
      },
    })),
    ...Object.entries(spoken).map(([phrase, from]) => ({
      pattern: wholeWords(`${phrase.replace('H', spokenHour)}${half}?`),
      read: ([, name, said]: RegExpExecArray) => spokenOf(name!, from, said),
    })),
    {
      pattern: wholeWords(String.raw`(\d{1,2})[:.](\d{2})(?::(\d{2})(?:[.,]\d+)?)?(?:\s?${mark})?${half}`),
      read: ([, h, m, s, said]) => timeOf(h!, m, s, halfOf(said)),
    },
    {
      pattern: wholeWords(String.raw`(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?(?:\s?${mark})?(?!:)`),
      read: ([, h, m, s]) => timeOf(h!, m, s),
    },
    {
      pattern: wholeWords(String.raw`(\d{1,2})${half}`),
      read: ([, h, said]) => timeOf(h!, '0', undefined, halfOf(said)),
    },
    // "ore 15.30"
    {
      pattern: wholeWords(String.raw`${anyWord(words.clock.before ?? [])}\s(\d{1,2})\.(\d{2})`),
      read: ([, h, m]) => timeOf(h!, m),
    },
    ...Object.entries(names).map(([name, value]) => ({
      pattern: wholeWords(`(?<!-)${name}`),
      read: () => sure(value),
    })),
  ]
  if (hour.length > 0) {
    patterns.splice(
      Object.keys(counted).length + Object.keys(spoken).length + 2,
      0,
      {
        pattern: wholeWords(String.raw`(\d{1,2})\.(\d{2})\s?${mark}`),
        read: ([, h, m]) => timeOf(h!, m),
      },
      {
        pattern: wholeWords(String.raw`(?:(${anyWord(lasting)})\s)?(\d{1,2})\s?(${mark})(?:\s?${minutes})?${half}?`),
        read: (match) => {
          const [all, before, h, name, m, said] = match
          const reading = timeOf(h!, m ?? '0', undefined, halfOf(said))
          if (said !== undefined || !words.units.hours.includes(name!)) return reading
          if (before !== undefined) return { value: null }
          // "1h20" and "2 h de route" are lengths, if nothing says at which time they are.
          const isLength = / de $/.test(match.input.slice(match.index + all.length, match.index + all.length + 4))
          const isAt = Number(h) > 6 || AT.test(rightBefore(match.input, match.index))
          return reading.value !== null && (isLength || !isAt) ? unsure(reading.value) : reading
        },
      },
    )
  }
  return patterns
})

const AT =
  /(?<!\p{L})(?:a|vers|des|de|entre|et|avant|apres|midi|jusqu'a|las?|y|um|ab|bis|gegen|von|vor|nach|at|as|alle|ore|om|from|to|-) ?$/u

type Half = 'am' | 'pm' | 'night'

const two = (value: number | string) => String(value).padStart(2, '0')

function timeOf(h: string, m = '0', s?: string, said?: Half): ValueReading<string> {
  let hour = Number(h)
  const half = said !== 'night' ? said : hour === 0 || hour > 12 ? undefined : hour < 6 || hour === 12 ? 'am' : 'pm'
  if (half !== undefined) {
    // "15:30 pm" says it twice.
    if (hour === 0 || (hour > 12 && half === 'am') || hour > 23) return { value: null }
    if (hour === 12) hour = half === 'am' ? 0 : 12
    else if (hour < 12 && half === 'pm') hour += 12
    else if (hour > 12 && m === '0') return { value: null }
  }
  if (hour > 23 || Number(m) > 59 || Number(s ?? 0) > 59) return { value: null }
  return sure(`${two(hour)}:${two(m)}${s === undefined ? '' : `:${two(s)}`}`)
}

/** Of twelve hours, where nothing says which half of the day: a guess. */
function spokenTime(hour: number, from: number, half?: Half): ValueReading<string> {
  const { value } = timeOf(String(hour), '0', undefined, half)
  if (value === null) return { value }
  const minutes = (half === undefined && hour === 12 ? 0 : Number(value.slice(0, 2))) * 60 + from
  const there = (minutes + 1440) % 1440
  return (half === undefined && hour < 13 ? unsure : sure)(`${two(Math.floor(there / 60))}:${two(there % 60)}`)
}

/** A place of the world's clock: `Z`, `+02:00`. */
const ZONES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    z: 'Z',
    utc: 'Z',
    gmt: 'Z',
    cet: '+01:00',
    mez: '+01:00',
    cest: '+02:00',
    mesz: '+02:00',
    est: '-05:00',
    edt: '-04:00',
    mst: '-07:00',
    mdt: '-06:00',
    pst: '-08:00',
    pdt: '-07:00',
  }),
)
const OFFSET = /(?:(?:utc|gmt)\s?)?([+-])(0?\d|1[0-4]):?([0-5]\d)?(?!\d)/u
const ZONE = wholeWords(`(${anyWord([...ZONES.keys()])})`, 'u')

const ZONE_BEHIND = new RegExp(` ?(?:${OFFSET.source}|(?:${ZONE.source}))`, 'uy')

/** How much of the text from here on says in which zone a time is. */
export function zoneBehind(text: string, from: number): number {
  ZONE_BEHIND.lastIndex = from
  return ZONE_BEHIND.test(text) ? ZONE_BEHIND.lastIndex - from : 0
}

/** Of what stands beside date and time; `''`: none is said. */
export function zoneIn(text: string): string {
  const offset = OFFSET.exec(text)
  if (offset) return `${offset[1]}${two(offset[2]!)}:${offset[3] ?? '00'}`
  const zone = ZONE.exec(text)
  return zone ? ZONES.get(zone[1]!)! : ''
}
