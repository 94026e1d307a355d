/** Numbers and dates in the signs of East Asia: `三千五百円`, `令和6年3月5日`, `2024년 3월 5일`. */
import { dayOf, nearest, weekdayOf } from './calendar.js'
import { type FoundReading, sure, unsure, type ValueReading } from './reading.js'
import { anyWord, plain, rightBefore } from './text.js'
import { COUNT_SIGNS, EASTERN_DIGITS, EASTERN_SCALES, ERAS, LUNAR } from './words/elsewhere.js'

const NOTHING = { before: '', behind: '' }

/** As `plain` writes them. */
export const EASTERN: ReadonlyMap<string, number> = new Map(
  Object.entries(EASTERN_SCALES).flatMap(([value, signs]) => [...signs].map((sign) => [plain(sign), Number(value)])),
)
const DIGITS: ReadonlyMap<string, number> = new Map(
  EASTERN_DIGITS.flatMap((signs, value) => [...signs].map((sign) => [sign, value] as const)),
)
const HAN_SCALES = [...EASTERN.keys()].filter((sign) => /\p{sc=Han}/u.test(sign))
const SIGN = `[${[...DIGITS.keys(), ...HAN_SCALES].join('')}]`

/** `二千五百`, `二〇二四`; undefined: no number, or one of which `三千五` may say two. */
function hanNumber(text: string): number | undefined {
  const signs = [...text]
  if (signs.every((sign) => DIGITS.has(sign))) {
    // Two in a row are "three or four".
    const isOne = signs.length === 1 || signs.length > 3 || signs.some((sign) => DIGITS.get(sign) === 0)
    return isOne ? Number(signs.map((sign) => DIGITS.get(sign)).join('')) : undefined
  }
  let [total, section, digit, least, lastSmall, isAfterZero] = [0, 0, undefined as number | undefined, 1e16, 1e4, false]
  for (const sign of signs) {
    const value = DIGITS.get(sign)
    const size = EASTERN.get(sign) ?? 0
    if (value !== undefined) {
      if (digit) return undefined
      if (value === 0) isAfterZero = true
      digit = value
    } else if (size < 1e4) {
      if (size >= lastSmall || digit === 0) return undefined
      section += (digit ?? 1) * size
      ;[digit, lastSmall, isAfterZero] = [undefined, size, false]
    } else {
      const count = section + (digit ?? 0)
      if (size >= least || count === 0) return undefined
      total += count * size
      ;[section, digit, least, lastSmall, isAfterZero] = [0, undefined, size, 1e4, false]
    }
  }
  // "三千五" is 3005 in Japan, and 3500 in China.
  if (digit && !isAfterZero && (lastSmall > 10 || section === 0)) return undefined
  return total + section + (digit ?? 0)
}

const COUNT = new RegExp(
  String.raw`(?<!${SIGN}|[第数幾几何上成\d])${SIGN}+(?=${anyWord(COUNT_SIGNS)})|(?<!\p{L})${SIGN}{2,}(?![\p{L}\d])`,
  'gu',
)
const SCALED = new RegExp(`[${HAN_SCALES.join('')}]`, 'u')

/** Where what is counted stands behind it, or no letter beside it: its signs are parts of words too. */
export function hanNumbers(text: string, { before, behind } = NOTHING): FoundReading<number>[] {
  const found = [...(before + text + behind).matchAll(COUNT)].map(({ 0: signs, index }) => {
    // One is an article too.
    const value = SCALED.test(signs) ? hanNumber(signs) : signs === '一' ? undefined : DIGITS.get(signs)
    const start = index - before.length
    return { reading: value === undefined ? { value: null } : sure(value), start, end: start + signs.length }
  })
  return found.filter(({ reading, start, end }) => reading.value !== null && start >= 0 && end <= text.length)
}

const [YEAR, MONTH, DAY] = [
  ['年', '년'],
  ['月', '월'],
  ['日', '號', '号', '일'],
].map((names) => anyWord(names.map(plain)))
const FEW = `(\\d{1,2}|${SIGN}{1,3})`
const ERA = `(${anyWord(Object.keys(ERAS))})`
const DATE = new RegExp(
  String.raw`(?<![\d.,])(?:(?:${ERA} ?(元|\d{1,3}|${SIGN}{1,4})|(\d{4}|${SIGN}{4})) ?${YEAR} ?)?(?<!\d|${SIGN})${FEW} ?${MONTH} ?${FEW} ?${DAY}`,
  'gu',
)
const WEEKDAYS = ['月一월', '火二화', '水三수', '木四목', '金五금', '土六토', '日天일'].map((names) =>
  [...names].map(plain),
)
const WEEKDAY = new RegExp(
  String.raw`^ ?\(?(?:(?:星期|週|周|禮拜|礼拜)?(${anyWord(WEEKDAYS.flat())})(?:曜日?|${plain('요일')})?\)|(?:星期|週|周|禮拜|礼拜)(${anyWord(WEEKDAYS.flat())})|(${anyWord(WEEKDAYS.flat())})(?:曜|${plain('요일')}))`,
  'u',
)
/** `去年3月5日`, `農曆3月5日`, `～3月5日`: of another year, or of another calendar. */
const OF_YEAR = new RegExp(`(?:${YEAR}|[度の至到~〜-]|から) ?$`, 'u')
const OF_MOON = new RegExp(`${anyWord(LUNAR.map(plain))} ?$|前$`, 'u')
/** `3月5日～7日` */
const TO = new RegExp(String.raw`^(?: ?\([^)]{1,4}\))? ?[-~〜至到・、,] ?\d{1,2} ?(?:${DAY})`, 'u')

export function easternDates(text: string, reference: number | undefined, beside = NOTHING): FoundReading<number>[] {
  return [...text.matchAll(DATE)].map((match) => {
    const [all, era, ofEra, year, month, day] = match
    const end = match.index + all.length
    const before = beside.before + rightBefore(text, match.index)
    const behind = text.slice(end) + beside.behind
    return { reading: read(), start: match.index, end }

    function read(): ValueReading<number> {
      const [m, d] = [numberOf(month!), numberOf(day!)]
      if (m === undefined || d === undefined || OF_MOON.test(before)) return { value: null }
      const own = year === undefined ? (ofEra === '元' ? 1 : numberOf(ofEra ?? '')) : numberOf(year)
      const there =
        own !== undefined
          ? dayOf(own + (era === undefined ? 0 : ERAS[era]!), m, d)
          : year === undefined && era === undefined && reference !== undefined
            ? nearest(m, d, reference)
            : undefined
      if (there === undefined) return { value: null }
      const named = WEEKDAY.exec(behind)
        ?.slice(1)
        .find((name) => name !== undefined)
      const fits = named === undefined || WEEKDAYS[weekdayOf(there)]!.includes(named)
      const isOther = own === undefined && OF_YEAR.test(before)
      return (fits && !isOther && !TO.test(behind) ? sure : unsure)(there)
    }
  })
}

const numberOf = (text: string): number | undefined =>
  /^\d+$/.test(text) ? Number(text) : text === '' ? undefined : hanNumber(text)
