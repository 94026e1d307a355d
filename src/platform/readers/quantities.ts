/** Every number of a text, in digits and in words. */
import { EASTERN, hanNumbers } from './eastern.js'
import { type DecimalMark, decimalMark, NUMERAL, numeral } from './numeral.js'
import type { FoundReading, ReaderContext } from './reading.js'
import { sure, unsure } from './reading.js'
import {
  anyWord,
  FRACTION,
  fraction,
  fractionIn,
  moreIn,
  ofLast,
  ofWords,
  plain,
  rightBefore,
  wholeWords,
} from './text.js'
import { ALIKE_ELSEWHERE, BEHIND_HANGUL, OPEN_ELSEWHERE, SCALES_ELSEWHERE, SIZES_ELSEWHERE } from './words/elsewhere.js'
import { LANGUAGES, type LanguageName, type LanguageWords } from './words/index.js'

export function quantities(text: string, language: LanguageName, context: ReaderContext): FoundReading<number>[] {
  const digits = [...inDigits(text, language, context), ...hanNumbers(text, context.beside)]
  const words = inWords(text, LANGUAGES[language]).filter(
    ({ start, end }) => !digits.some((one) => one.start < end && start < one.end) && !isCoin(text, start, end),
  )
  const all = [...digits, ...words].sort((a, b) => a.start - b.start)
  const { alike = [] } = LANGUAGES[language] as LanguageWords
  const whole = all
    .map((one) => withWords(text, one, LANGUAGES[language], context))
    .filter(
      ({ start, end }) =>
        context.language === language ||
        !alike.includes(text.slice(start, end)) ||
        unitBehind(LANGUAGES[language]).test(text.slice(end)),
    )
  // "three quarters" lies within "three quarters of a million".
  const within = new Set<(typeof whole)[number]>()
  let [first, reach] = [-1, -1]
  for (const one of whole.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    if (one.start === first || one.start < reach) within.add(one)
    first = one.start
    reach = Math.max(reach, one.end)
  }
  return whole.filter((one) => !within.has(one))
}

/** `50 cents` are no five thousand, and no hundred beside them, as `5 per cento` are none. */
function isCoin(text: string, start: number, end: number): boolean {
  const [said, before] = [text.slice(start, end), rightBefore(text, start)]
  return (
    (COIN.test(said) && /\d ?$/.test(before)) || (/^ci?ento?$/.test(said) && /(?<!\p{L})p(?:er|ou?r) $/u.test(before))
  )
}
const COIN = /^cents?$/

const aroundOf = ofWords((words) => {
  const { minus, parts, partOf, articles, bare } = words
  const [part, scale] = [fractionIn(words), anyWord(Object.keys(scalesOf(words)))]
  return {
    minus: new RegExp(String.raw`(?<![\p{L}\d])(?<!\d\s?)${anyWord(minus)}\s$`, 'u'),
    partBefore: new RegExp(String.raw`(?<![\p{L}\d])${part}(?:[\s-]|\s${anyWord(partOf)}\s)$`, 'u'),
    article: new RegExp(String.raw`(?<!\p{L})${anyWord(articles)}\s$`, 'u'),
    scaleFirst: new RegExp(String.raw`^${scale}(?!\p{L})`, 'u'),
    bare: new RegExp(String.raw`^${anyWord(bare)}(?!\p{L})`, 'u'),
    scaleLast: new RegExp(`${scale}$`, 'u'),
    more: moreIn(words),
    part: new RegExp(String.raw`[\s-](${anyWord(Object.keys(parts))})(?!\p{L})`, 'uy'),
  }
})

/** `minus five`, `three quarters`, `half a million`, `two and a half`. */
function withWords(text: string, found: FoundReading<number>, words: LanguageWords, { beside }: ReaderContext) {
  const { minus, partBefore, article, scaleFirst, bare, scaleLast, more, part } = aroundOf(words)
  const { reading, start, end } = found
  const said = text.slice(start, end)
  let [from, to, added, factor, divisor, isSure] = [start, end, 0, 1, 1, true]
  if (scaleFirst.test(said)) {
    const own = rightBefore(text, start)
    const before = (beside?.before ?? '') + own
    const share = partBefore.exec(own)
    if (share) factor = fraction(share, words)
    // "several thousand", "millions"
    else isSure = bare.test(said) ? !VAGUE.test(before) : article.test(before)
    from = start - own.length + ((share ?? article.exec(own))?.index ?? own.length)
  }
  more.lastIndex = part.lastIndex = end
  const share = more.exec(text)
  const name = /^\D/.test(said) ? part.exec(text)?.[1] : undefined
  if (share) {
    added = fraction(share, words)
    to = more.lastIndex
    const scale = scaleAt(text, to, words, { beside })
    const last = scaleLast.exec(said)
    if (scale) [factor, to] = [scale.value, scale.end]
    // "a million and a half"
    else if (last) added *= scalesOf(words)[last[0]]!
  } else if (name !== undefined && reading.value !== null) {
    const parts = Math.abs(words.parts[name]!)
    divisor = parts
    to = part.lastIndex
    // Two quarters are half a year, and cuartos are rooms.
    isSure &&= words.parts[name]! > 0 && reading.value < parts && (parts % reading.value > 0 || reading.value === 1)
  }
  isSure &&= !(
    OF.test((beside?.before ?? '') + rightBefore(text, from)) || POINT.test(text.slice(to) + (beside?.behind ?? ''))
  )
  const sign = minus.exec(rightBefore(text, from))
  if (sign) [from, factor] = [from - sign[0].length, -factor]
  const { value, guess } = reading
  const told = (number: number) =>
    factor === 1 ? (number + added) / divisor : product((number + added) / divisor, factor)
  if (value !== null) return { reading: (isSure ? sure : unsure)(told(value)), start: from, end: to }
  return { reading: guess === undefined ? reading : unsure(told(guess)), start: from, end: to }
}

/** No count: `ein paar hundert`. */
const VAGUE =
  /(?:paar|einige|mehrere|viele|quelques|plusieurs|vari[oa]s|algun[oa]s|un[oa]s|few|several|many|alcun[ei]|qualche|divers[ei]|alguns|algumas|uns|umas|enkele|meerdere) $/

/** `three point five`, `half of 50`. */
const OF = /(?:point|komma|virgule|coma|virgola|virgula|oh|double|triple|(?:half|third|thirds|quarter|quarters) of) $/
const POINT = /^ (?:point|komma|virgule|coma|virgola|virgula) \p{L}/u

const CODE = '(?:eur|usd|gbp|chf|jpy|cny|cad|aud|nzd|inr|brl|mxn|krw|pln|czk|huf|nok|dkk)'
const MONEY = String.raw`(?:[a-z]{0,3}[\p{Sc}%]|[a-z]{3}(?![a-z]))`
/** `.5`, which no sentence ends before. */
const POINT_FIRST = String.raw`(?<=^|[\s(\p{Sc}+-])\.\d+(?![.,']?\d)`
/** Behind it a dash is a minus: `"-3"`, `temp:-3`. */
const BEFORE_SIGN = String.raw`^|[\s([{<>|*]|(?<!\d)[=:]|(?<=^|[\s([{:=,>])["'«»„“”‹›「『]`
const SIGNED = new RegExp(
  String.raw`(?<![\d⁄^]|(?<!\p{L}["']?):(?![-+]))(?:(?<=${BEFORE_SIGN})([-+] ?)(?:${MONEY} ?)?|(?<=(?<!\d ?)(?:[\p{Sc}%]|(?<!\p{L})${CODE}) ?)([-+]))?(${NUMERAL}|${POINT_FIRST})(?![:⁄^\d])`,
  'gu',
)
/** There it may be one: `气温-3`, `,-3`; a letter before it makes a name, a number a range. */
const MAYBE_SIGNED =
  /(?:[^\p{L}\p{N}\s)\]%-]|[\p{scx=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}\p{sc=Mymr}])-$/u
/** Of money alone: `$1.2M`, `3 k€`. */
const OF_MONEY: ReadonlyMap<string, number> = new Map([
  ['k', 1e3],
  ['m', 1e6],
  ['mm', 1e6],
  ['b', 1e9],
])
export const MONEY_NEXT = new RegExp(String.raw`^ ?(?:\p{Sc}|${CODE}(?!\p{L}))`, 'u')
const MONEY_BEHIND = new RegExp(String.raw`\s?(k|mm?|b)(?:(?= ?\p{Sc})|(?=${CODE}(?!\p{L}))|(?![\p{L}\d^]))`, 'uy')
export const IS_MONEY = new RegExp(String.raw`(?:\p{Sc}|(?<!\p{L})${CODE})\s?[-+]?$`, 'u')
/** Right behind another letter it is a part of a name, but where no blanks part words: `A4`, `合計12`. */
const STUCK = new RegExp(
  String.raw`(?<!(?<!\p{L})(?:${CODE}|rs|kr|no|nr|n|x)|\d\p{L}{1,3})(?<=(?![\p{scx=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Hang}\p{sc=Thai}])\p{L})$|[数幾几△▲▼▽]$|\d[.,':٫،]$|分[之の]$|(?<!\p{L})(?:elfu|laki|milioni|bilioni|trilioni|dubu|miliyan|biliyan|triliyan) $`,
  'u',
)
/** Behind a number: how large it is, or whether it is a part, is another question. `5-10k`, `3/4`, `10 grand`. */
const OPEN =
  /^ ?(?:(?:mil|mill|grand|thous|[tm]kr|[tkm](?:eur|usd|gbp|chf|sek|nok|dkk|czk|pln|huf)|t€)(?!\p{L})|(?:-|to|bis|a|or|oder|ou) ?[$€£]?\d[\d.,]* ?(?:k|mn|bn|mio|mrd|thousand|tausend|mil|mill\p{L}+)(?!\p{L}))|^\/[2348](?![\d/])|^-(?= )|^ ?-$|^[\p{No}\p{Nl}]|^分[之の]|^ ?[割成折]|^[^\d\s]{0,3}半|^ ?[数幾几余餘多]|^\u110b\u1167|^ ?(?:tn|tuh|mia|mlr|yuz|сотен|сотни|εκ|χιλ|अरब|(?:tukst|tysi|tisic|tisuc|tuhan|miljo|milj|milij|milio|milia|millj|bilj|bilio|trilj|trilio|trily|bily|трил|бил|біль|тысяч|тисяч|милли|мільи|мили)\p{L}*)(?!\p{L})/u
const SIZES = SIZES_ELSEWHERE.map(plain)
const OPEN_SIZE = new RegExp(
  String.raw`^ ?(?:${anyWord(SIZES.filter((name) => name.length > 4))}\p{L}*|${anyWord(SIZES)})(?![\p{L}\d])`,
  'u',
)
/** Larger ones, of which a billiard is a thousand billion, or a million: `2 biliardów`, `3 kvadrilion`, `квадриллион`. */
const HUGE = new RegExp(
  `^ ?(?:${[
    String.raw`(?:b|tr|[ckq][uvw]?[ae]+[dt]r|[kq][uvw]?[ie]n[dt]|se[kx]t|sept|o[ck]t|non|de[ckz]|z)[iy]l+(?:(?:[hijy]|ij)?(?:on|oo|oe|oa|ao|ard)|(?:[ijy]|ij)un|io(?!\p{L}))|mil+ardo`,
    String.raw`(?:б|тр|к[ву]?[аи]?[дт]р|кв[и\u0456]нт|секст)[и\u0456ы]л+[ьи\u0456\u0458]{0,2}(?:он|ард)`,
    'τρισεκατομμ|τετρακι|πεντακι|بیلیارد|تریلیارد|كوادريليون|[京垓經]',
  ].join('|')})`,
  'u',
)
/** In English alone: elsewhere `2 mi` may be two million. */
const MILES = /^ ?mi(?![\p{L}\d])/u
/** Accounts write what is owed in brackets. */
export const OPENED = new RegExp(String.raw`\((?:${MONEY} ?)?$`, 'u')
export const CLOSED = new RegExp(String.raw`^(?: ?(?:\p{Sc}|${CODE}))?\)`, 'u')

function inDigits(text: string, language: LanguageName, context: ReaderContext): FoundReading<number>[] {
  const words = LANGUAGES[language]
  const mark = decimalMark(context, language)
  const { before = '', behind = '' } = context.beside ?? {}
  const found: FoundReading<number>[] = []
  for (const match of text.matchAll(SIGNED)) {
    const [all, outer, inner, digits] = match
    const last = match.index + all.length
    const first = last - digits!.length
    const left = before + rightBefore(text, match.index)
    // `5 m2` is no 2.
    if (/^[23]$/.test(digits!) && /\d ?[cdk]?m$/.test(left)) continue
    // `1.234,-` says which mark is which.
    const even = /^[.,](?=--?(?!\d))/.exec(text.slice(last) + behind)?.[0] as DecimalMark | undefined
    const reading = numeral(digits!, even ?? mark)
    if (!reading) {
      // Blanks between numbers look like those between thousands: "100.5 101.5".
      if (digits!.includes(' ')) found.push(...oneByOne(digits!, first, mark))
      continue
    }
    // "2 - 3" is a range, "Tea - 3.50" a price, and "- 3 eggs" an item of a list.
    const spaced = outer === '- '
    const isRange = spaced && /[\d%€$£] ?$/.test(left)
    let end = last
    const closed = CLOSED.exec(text.slice(end))
    const opened = closed && OPENED.exec(rightBefore(text, match.index))
    const isOwed = opened !== null && (closed![0] !== ')' || /[.,\p{Sc}]/u.test(digits! + opened[0]))
    let factor = isOwed || (!spaced && (outer ?? inner)?.[0] === '-') ? -1 : 1
    let isAlike = false
    for (let scale = scaleAt(text, end, words, context); scale; scale = scaleAt(text, end, words, context)) {
      isAlike ||= scale.isAlike
      factor *= scale.value
      end = scale.end
    }
    MONEY_BEHIND.lastIndex = end
    const short = Math.abs(factor) === 1 ? MONEY_BEHIND.exec(text) : null
    if (short && (IS_MONEY.test(rightBefore(text, first)) || MONEY_NEXT.test(text.slice(MONEY_BEHIND.lastIndex)))) {
      factor *= OF_MONEY.get(short[1]!)!
      end = MONEY_BEHIND.lastIndex
    }
    const isOpen =
      isAlike ||
      (spaced && !isRange) ||
      (opened !== null && !isOwed) ||
      (outer === undefined && STUCK.test(left)) ||
      (/^[2348]$/.test(digits!) && /(?<![\d/])[1-7]\/$/.test(left)) ||
      ((outer ?? inner) === undefined && MAYBE_SIGNED.test(left)) ||
      OPEN.test(text.slice(end) + behind) ||
      OPEN_SIZE.test(text.slice(end) + behind) ||
      HUGE.test(text.slice(end) + behind) ||
      (language !== 'en' && MILES.test(text.slice(end) + behind)) ||
      (end === text.length && (/^[.,':٫،]?\d/.test(behind) || scaleAt(behind, 0, words, context) !== undefined)) ||
      OPEN_SCALE.test(text.slice(end) + behind) ||
      TRILLION.test(text.slice(last) + behind)
    const likely = reading.value ?? reading.guess!
    found.push({
      reading: (isOpen || reading.value === null ? unsure : sure)(product(likely, factor)),
      start: isRange ? match.index + 2 : match.index,
      end,
    })
  }
  return withFraction(text, withLower(text, found))
}

/** `1億2000万`, `3만 5천`: what is smaller stands behind what is larger, and is a part of the same number. */
function withLower(text: string, found: FoundReading<number>[]): FoundReading<number>[] {
  const made: FoundReading<number>[] = []
  for (const one of found) {
    const last = made.at(-1)
    const gap = last && one.start >= last.end ? text.slice(last.end, one.start) : undefined
    const scale = EASTERN_LAST.exec(rightBefore(text, one.start))
    const size = scale ? EASTERN.get(scale[1]!)! : 0
    const [high, low] = [last?.reading.value ?? last?.reading.guess ?? 0, one.reading.value ?? one.reading.guess ?? 0]
    if (size === 0) made.push(one)
    else if (gap !== undefined && gap.trim() === '' && /\d/.test(text.slice(last!.start, last!.end))) {
      // "3万5" is colloquially 35,000, and "1億2000" 120,000,000.
      const own = EASTERN_LAST.test(text.slice(one.start, one.end))
      const isSure = low < size && low >= 0 && (own || (size < 1e8 && /\d\D?\d/.test(text.slice(one.start, one.end))))
      const isKnown = last!.reading.value !== null && one.reading.value !== null
      made[made.length - 1] = {
        reading: (isSure && isKnown ? sure : unsure)(high < 0 ? high - low : high + low),
        start: last!.start,
        end: one.end,
      }
    } else made.push({ ...one, reading: unsure(low) })
  }
  return made
}

function oneByOne(digits: string, from: number, mark: DecimalMark | undefined): FoundReading<number>[] {
  return [...digits.matchAll(/[^ ]+/g)].flatMap((match) => {
    const reading = numeral(match[0], mark)
    const start = from + match.index
    return reading ? [{ reading, start, end: start + match[0].length }] : []
  })
}

/** What a product of decimals is meant to be: 1.1 million, not 1100000.0000000002. Without a scale all digits stay. */
const product = (value: number, factor: number) =>
  Math.abs(factor) === 1 ? value * factor || 0 : Number((value * factor).toPrecision(15))

/** Of other languages too, where it says the same in all: a billion is not. */
const SCALES: Readonly<Record<string, number>> = Object.fromEntries([
  ...Object.entries({
    k: 1e3,
    mln: 1e6,
    mio: 1e6,
    mrd: 1e9,
    mld: 1e9,
    lakh: 1e5,
    lakhs: 1e5,
    crore: 1e7,
    crores: 1e7,
  }),
  ...Object.entries(SCALES_ELSEWHERE).flatMap(([value, names]) =>
    names.split(' ').map((name) => [plain(name), Number(value)] as const),
  ),
  ...Object.values<LanguageWords>(LANGUAGES)
    .flatMap(({ scales }) => Object.entries(scales))
    .filter(([name, value], _, all) => {
      const agreed = all.every(([other, size]) => other !== name || size === value)
      return agreed && name.length > 3 && value >= 1e3 && value <= 1e9
    }),
])
const scalesOf = ofWords(({ scales }) => ({ ...SCALES, ...scales }))

/** A blank may stand behind those of Korea. */
const EASTERN_LAST = new RegExp(String.raw`(${anyWord(EASTERN.keys())})(?:(?<=\p{sc=Hang}) )?$`, 'u')
/** Of metres, grams and the like: `5千克`. */
const NO_SCALE = '[克米瓦卡赫帕焦伏]'
/** Neither `5千克` nor `5만들`. */
const EASTERN_BEHIND = String.raw`(${anyWord(EASTERN.keys())})(?:(?<!\p{sc=Hang})(?!${NO_SCALE})|(?<=\p{sc=Hang})(?:(?!\p{sc=Hang})|(?=${anyWord(BEHIND_HANGUL.map(plain))})))`
/** Of teams, and of a million, they are too. */
const TRILLION = new RegExp(
  String.raw`^${anyWord(EASTERN.keys())}*?${anyWord(['兆', plain('조')])}(?! ?(?:${anyWord(['円', '圓', '元', plain('원')])}|\d[\d,]* ?${anyWord(['億', '亿', plain('억')])}))`,
  'u',
)
const OPEN_SCALE = new RegExp(
  `^ ?${anyWord([...EASTERN.keys()].filter((name) => /\p{sc=Hang}/u.test(name)).concat(OPEN_ELSEWHERE.map(plain)))}|^ [千万萬億亿兆](?!${NO_SCALE})`,
  'u',
)

/** Behind digits. */
const scaleOf = ofWords((words) => {
  return new RegExp(
    String.raw`\s?(${anyWord(Object.keys(scalesOf(words)).filter((name) => !COIN.test(name)))})(?![\p{L}\d])(?:\.(?= ?[\p{L}\p{Sc}]))?|${EASTERN_BEHIND}`,
    'uy',
  )
})

/** Of Persian and Urdu it is the letter A: `3 الف` is an address. */
const ALEF = plain('ألف')
const isArabic = ofLast((text) => /[أإةكي]/.test(text) && !/[پچژگکیٹڈڑہھے]/.test(text))

function scaleAt(text: string, from: number, words: LanguageWords, { language, locale, around = '' }: ReaderContext) {
  const scale = scaleOf(words)
  scale.lastIndex = from
  const found = scale.exec(text)
  if (!found) return undefined
  const [, name, eastern] = found
  const isAlike = ALIKE_ELSEWHERE.has(name ?? '')
  // In a text of ours it is our word.
  if (isAlike && language !== undefined) return undefined
  const isLetter = name === ALEF && !(locale === undefined ? isArabic(around) : locale.startsWith('ar'))
  return {
    isAlike: (isAlike && locale === undefined) || isLetter,
    value: EASTERN.get(eastern ?? '') ?? scalesOf(words)[name!]!,
    end: scale.lastIndex,
  }
}

function withFraction(text: string, found: FoundReading<number>[]): FoundReading<number>[] {
  let numbers = found
  for (const { 0: all, 1: above, 2: below, index } of text.matchAll(FRACTION)) {
    const whole = numbers.find(({ end }) => end <= index && text.slice(end, index).trim() === '')
    const { value, guess } = whole?.reading ?? { value: 0 }
    const [likely, part] = [value ?? guess ?? 0, Number(above) / Number(below)]
    const isItem = whole === undefined && /- ?$/.test(rightBefore(text, index))
    const told = likely < 0 ? likely - part : likely + part
    const one = {
      reading: (value === null || isItem ? unsure : sure)(told),
      start: whole?.start ?? index,
      end: index + all.length,
    }
    numbers = [...numbers.filter((other) => other !== whole), one]
  }
  return numbers
}

/** Parts of number words, longest first, for words that are written together. */
const splitterOf = ofWords(({ numbers, scales, and, elided = {} }) => {
  const long = [...Object.keys(scales).filter((scale) => scale.length > 2), ...and.filter((one) => one.length > 1)]
  const word = anyWord([...Object.keys(numbers), ...long, '-'])
  return new RegExp(`(${anyWord(Object.keys(elided))}(?=un|ott)|${word})`, 'uy')
})

/** The dash of `two-thirds`. */
const partBehind = ofWords(({ parts }) => new RegExp(`-(?=${anyWord(Object.keys(parts))}(?!\\p{L}))`, 'gu'))

function partsOf(token: string, words: LanguageWords): string[] | undefined {
  if (words.and.includes(token)) return [token]
  const splitter = splitterOf(words)
  const parts: string[] = []
  for (let at = 0; at < token.length; ) {
    splitter.lastIndex = at
    const part = splitter.exec(token)?.[1]
    if (part === undefined) return undefined
    if (part !== '-') parts.push(words.elided?.[part] ?? part)
    at += part.length
  }
  // "achten" are no eight.
  return words.and.includes(parts.at(-1) ?? '') ? undefined : parts
}

const partNext = ofWords(({ parts }) => wholeWords(String.raw`^\s${anyWord(Object.keys(parts))}`, 'u'))

/** "due giorni" are no English due. */
const unitBehind = ofWords(({ units }) => wholeWords(String.raw`^\s${anyWord(Object.values(units).flat())}`, 'u'))

function inWords(text: string, words: LanguageWords): FoundReading<number>[] {
  const found: FoundReading<number>[] = []
  const isOfPart = partNext(words)
  let run: { parts: string[]; start: number; end: number; behind: number } | undefined
  const close = () => {
    // What joins numbers may also stand at their end.
    while (run && run.parts.length > 0 && words.and.includes(run.parts.at(-1)!)) run.parts.pop()
    const value = run && numberOf(run.parts, words)
    if (run && value !== undefined) found.push({ reading: sure(value), start: run.start, end: run.end })
    // "nineteen eighty-four", "one two three"
    else if (run && run.parts.length > 1) found.push({ reading: { value: null }, start: run.start, end: run.end })
    run = undefined
  }
  for (const match of text.replace(partBehind(words), ' ').matchAll(/\p{L}+(?:-\p{L}+)*/gu)) {
    const [token] = match
    const parts = partsOf(token, words)
    const end = match.index + token.length
    const joins = parts?.every((part) => words.and.includes(part)) ?? false
    if (run && text.slice(run.behind, match.index).trim() !== '') close()
    // "twee en een half"
    if (run && words.articles.includes(token) && isOfPart.test(text.slice(end))) close()
    if (!parts || (joins && !run)) close()
    else if (run) {
      run.parts.push(...parts)
      run.behind = end
      if (!joins) run.end = end
    } else run = { parts: [...parts], start: match.index, end, behind: end }
  }
  close()
  return found
}

/** Undefined: these words are no one number. */
function numberOf(
  parts: readonly string[],
  { numbers, scales, and, unitsFirst, overSixty, articles }: LanguageWords,
): number | undefined {
  if (parts.length === 0) return undefined
  // An article alone counts nothing.
  if (parts.length === 1 && articles.includes(parts[0]!)) return undefined
  let [total, current, any, least] = [0, 0, false, Infinity]
  for (const [i, part] of parts.entries()) {
    if (and.includes(part)) continue
    const scale = scales[part]
    if (scale === undefined) {
      const value = numbers[part]!
      const joined = unitsFirst === true && and.includes(parts[i - 1] ?? '') && current % 100 < 10
      const [tens, isTeen] = [current % 100, value > 9 && value < 20]
      const room = !Number.isInteger(value)
        ? current % 1 === 0
        : value < 10
          ? tens % 10 === 0 && (tens !== 10 || (overSixty === true && value > 6))
          : value < 100
            ? tens === 0 || (overSixty === true && isTeen && (tens === 60 || tens === 80))
            : current === 0
      if (any && current > 0 && !room && !(joined && value >= 20)) return undefined
      // "zero five" are digits of a longer one.
      if (value === 0 && parts.length > 1) return undefined
      current += value
    } else if (scale < 1000) {
      // "cento-duecento": from one to the other.
      if (scale === 100 && current >= 100) return undefined
      current = Math.max(current, 1) * scale
    } else {
      if (scale === least) return undefined
      // "mil millones" are a thousand of them.
      if (scale > least) [total, current] = [0, total + current]
      total += Math.max(current, 1) * scale
      current = 0
      least = scale
    }
    any = true
  }
  return any ? total + current : undefined
}
