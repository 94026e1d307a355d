/** Every number of a text, in digits and in words. */
import { type DecimalMark, decimalMark, NUMERAL, numeral } from './numeral.js'
import type { FoundReading, ReaderContext } from './reading.js'
import { sure, unsure } from './reading.js'
import { anyWord, FRACTION, ofWords } from './text.js'
import { LANGUAGES, type LanguageName, type LanguageWords } from './words/index.js'

export function quantities(text: string, language: LanguageName, context: ReaderContext): FoundReading<number>[] {
  const digits = inDigits(text, language, context)
  const words = inWords(text, LANGUAGES[language]).filter(
    ({ start, end }) => !digits.some((one) => one.start < end && start < one.end),
  )
  const all = [...digits, ...words].sort((a, b) => a.start - b.start)
  const whole = all.map((one) => withWords(text, one, LANGUAGES[language]))
  return whole.filter((one, i) => i === 0 || one.start >= whole[i - 1]!.end)
}

const aroundOf = ofWords(({ minus, half, scales }) => ({
  minus: new RegExp(String.raw`(?<![\p{L}\d])(?<!\d\s?)${anyWord(minus)}\s$`, 'u'),
  halfOf: new RegExp(String.raw`(?<![\p{L}\d])${anyWord(half.one)}(?:\s|(?<=-))$`, 'u'),
  scaleFirst: new RegExp(String.raw`^${anyWord(Object.keys(scales))}(?!\p{L})`, 'u'),
  more: new RegExp(String.raw`\s${anyWord(half.more)}(?!\p{L})`, 'uy'),
}))

/** `minus five`, `half a million`, `two and a half`. */
function withWords(text: string, { reading, start, end }: FoundReading<number>, words: LanguageWords) {
  const { minus, halfOf, scaleFirst, more } = aroundOf(words)
  let [from, to, added, factor] = [start, end, 0, 1]
  const half = scaleFirst.test(text.slice(start, end)) ? halfOf.exec(text.slice(0, start)) : null
  if (half) [from, factor] = [half.index, 0.5]
  more.lastIndex = end
  if (more.test(text)) {
    added = 0.5
    to = more.lastIndex
    const scale = scaleAt(text, to, words)
    if (scale) [factor, to] = [scale.value, scale.end]
  }
  const sign = minus.exec(text.slice(0, from))
  if (sign) [from, factor] = [sign.index, -factor]
  const { value, guess } = reading
  const told = (number: number) => (factor === 1 ? number + added : product(number + added, factor))
  if (value !== null) return { reading: sure(told(value)), start: from, end: to }
  return { reading: guess === undefined ? reading : unsure(told(guess)), start: from, end: to }
}

const MONEY = `(?:[a-z]{0,3}[$€£¥]|[a-z]{3}(?![a-z]))`
/** `.5`, which no sentence ends before. */
const POINT_FIRST = String.raw`(?<=^|[\s($€£¥+-])\.\d+(?![.,']?\d)`
const SIGNED = new RegExp(
  String.raw`(?<![\d:⁄])(?:(?<=^|[\s(])([-+]) ?(?:${MONEY} ?)?|(?<=[$€£¥] ?)([-+]))?(${NUMERAL}|${POINT_FIRST})(?![:⁄])`,
  'gu',
)
/** Of money alone: `$1.2M`, `3 k€`. */
const OF_MONEY: ReadonlyMap<string, number> = new Map([
  ['k', 1e3],
  ['m', 1e6],
  ['mm', 1e6],
  ['b', 1e9],
])
const MONEY_BEHIND = /\s?(k|mm?|b)(?:(?= ?[$€£¥])|(?![\p{L}\d]))/uy
/** Accounts write what is owed in brackets. */
const OPENED = new RegExp(String.raw`\((?:${MONEY} ?)?$`, 'u')

function inDigits(text: string, language: LanguageName, context: ReaderContext): FoundReading<number>[] {
  const mark = decimalMark(context, language)
  const found: FoundReading<number>[] = []
  for (const match of text.matchAll(SIGNED)) {
    const [all, outer, inner, digits] = match
    const sign = outer ?? inner
    const reading = numeral(digits!, mark)
    if (!reading) {
      // Blanks between numbers look like those between thousands: "100.5 101.5".
      if (digits!.includes(' ')) found.push(...oneByOne(digits!, match.index + all.length - digits!.length, mark))
      continue
    }
    let end = match.index + all.length
    let factor = sign === '-' || (text[end] === ')' && OPENED.test(text.slice(0, match.index))) ? -1 : 1
    for (let scale = scaleAt(text, end, LANGUAGES[language]); scale; scale = scaleAt(text, end, LANGUAGES[language])) {
      factor *= scale.value
      end = scale.end
    }
    const isMoney = /[$€£¥]\s?[-+]?$/.test(text.slice(0, match.index + all.length - digits!.length))
    MONEY_BEHIND.lastIndex = end
    const short = Math.abs(factor) === 1 ? MONEY_BEHIND.exec(text) : null
    if (short && (isMoney || /^ ?[$€£¥]/.test(text.slice(MONEY_BEHIND.lastIndex)))) {
      factor *= OF_MONEY.get(short[1]!)!
      end = MONEY_BEHIND.lastIndex
    }
    const times = (value: number | null | undefined) => (typeof value === 'number' ? product(value, factor) : null)
    const { value, guess } = reading
    found.push({
      reading: value === null ? { value, guess: times(guess)! } : sure(times(value)!),
      start: match.index,
      end,
    })
  }
  return withFraction(text, found)
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

const scaleOf = ofWords(({ scales }) => new RegExp(String.raw`\s?(${anyWord(Object.keys(scales))})(?![\p{L}\d])`, 'uy'))

function scaleAt(text: string, from: number, words: LanguageWords): { value: number; end: number } | undefined {
  const scale = scaleOf(words)
  scale.lastIndex = from
  const found = scale.exec(text)
  return found ? { value: words.scales[found[1]!]!, end: scale.lastIndex } : undefined
}

function withFraction(text: string, found: FoundReading<number>[]): FoundReading<number>[] {
  const match = FRACTION.exec(text)
  if (!match) return found
  const [all, above, below] = match
  const before = found.findIndex(({ end }) => text.slice(end, match.index).trim() === '' && end <= match.index)
  const whole = found[before]
  const value = (whole?.reading.value ?? 0) + Number(above) / Number(below)
  const one = { reading: sure(value), start: whole?.start ?? match.index, end: match.index + all.length }
  return [...found.filter((_, i) => i !== before), one]
}

/** Parts of number words, longest first, for words that are written together. */
const splitterOf = ofWords(({ numbers, scales, and }) => {
  const long = Object.keys(scales).filter((scale) => scale.length > 2)
  return new RegExp(`(${anyWord([...Object.keys(numbers), ...long, ...and, '-'])})`, 'uy')
})

function partsOf(token: string, words: LanguageWords): string[] | undefined {
  const splitter = splitterOf(words)
  const parts: string[] = []
  for (let at = 0; at < token.length; ) {
    splitter.lastIndex = at
    const part = splitter.exec(token)?.[1]
    if (part === undefined) return undefined
    if (part !== '-') parts.push(part)
    at += part.length
  }
  return parts
}

function inWords(text: string, words: LanguageWords): FoundReading<number>[] {
  const found: FoundReading<number>[] = []
  let run: { parts: string[]; start: number; end: number; behind: number } | undefined
  const close = () => {
    // What joins numbers may also stand at their end.
    while (run && run.parts.length > 0 && words.and.includes(run.parts.at(-1)!)) run.parts.pop()
    const value = run && numberOf(run.parts, words)
    if (run && value !== undefined) found.push({ reading: sure(value), start: run.start, end: run.end })
    run = undefined
  }
  for (const match of text.matchAll(/\p{L}+(?:-\p{L}+)*/gu)) {
    const [token] = match
    const parts = partsOf(token, words)
    const end = match.index + token.length
    const joins = parts?.every((part) => words.and.includes(part)) ?? false
    if (run && text.slice(run.behind, match.index).trim() !== '') close()
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
  { numbers, scales, and, unitsFirst, articles }: LanguageWords,
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
      const room =
        value < 10
          ? current % 10 === 0
          : value < 20
            ? current % 20 === 0
            : value < 100
              ? current % 100 === 0
              : current === 0
      if (any && current > 0 && !room && !(joined && value >= 20)) return undefined
      current += value
    } else if (scale < 1000) current = Math.max(current, 1) * scale
    else {
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
