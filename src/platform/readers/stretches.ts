/** Where a text says something of a kind: all that a value of it can be read from. */
import { mayBegin, mayEnd } from '../borders.js'
import type { Slices } from '../turns.js'
import { amountsIn, BETWEEN_AMOUNTS } from './amounts.js'
import { learnRanges } from './beside.js'
import { datesIn } from './date.js'
import { languageOf } from './language.js'
import { CLOSED, IS_MONEY, MONEY_NEXT, OPENED, quantities } from './quantities.js'
import type { ReaderContext } from './reading.js'
import { plainPlaces, wholeWords } from './text.js'
import { timesIn, zoneBehind } from './time.js'
import { LANGUAGES, type LanguageName } from './words/index.js'

export type ReadableKind = 'number' | 'date' | 'time' | 'datetime' | 'duration'

export interface ReadablePlace {
  readonly start: number
  readonly end: number
}

/** What can be read around a part of it, the closest first; else the part itself. */
export const closestAround = (places: readonly ReadablePlace[], part: ReadablePlace): ReadablePlace =>
  places
    .filter(({ start, end }) => start <= part.start && part.end <= end)
    .reduce<ReadablePlace | undefined>((a, b) => (a && a.end - a.start <= b.end - b.start ? a : b), undefined) ?? part

/** What is looked through in one language without a pause: a few milliseconds at most. */
const PART = 1000
/** More is said by no value, so a cut between two parts loses none that begins so far before its end. */
const REACH = 200
/** How far the word around a value may go. */
const FURTHER = 20
const DIGIT = /\p{Nd}/u

/** In the order of the text; none within another. */
export function* stretchesIn(kind: ReadableKind, text: string, context: ReaderContext): Slices<ReadablePlace[]> {
  const first = context.language ?? languageOf({ around: text, ...context })
  yield
  const all = Object.keys(LANGUAGES) as LanguageName[]
  const own = first === undefined ? [] : yield* inLanguages(kind, text, [first], { ...context, language: first })
  return own.length > 0
    ? own
    : yield* inLanguages(
        kind,
        text,
        all.filter((one) => one !== first),
        { ...context, language: undefined },
      )
}

function* inLanguages(
  kind: ReadableKind,
  text: string,
  languages: readonly LanguageName[],
  context: ReaderContext,
): Slices<ReadablePlace[]> {
  const found: ReadablePlace[] = []
  for (let from = 0; from < text.length; from += PART) {
    // What lies across a cut is found by both parts, or by the one that has it whole.
    const start = Math.max(0, from - REACH)
    const { plain, places } = plainPlaces(text, start, Math.min(text.length, from + PART))
    const here: ReadablePlace[] = []
    for (const language of languages) {
      if (kind === 'number' && DIGIT.test(plain)) yield* learnRanges(LANGUAGES[language])
      for (const one of placesOf(kind, plain, language, context)) {
        const stretch = within(text, places[one.start]!, places[one.end - 1]! + 1)
        if (stretch) here.push(stretch)
      }
      yield
    }
    // What languages have in common is dropped as it comes: at the end a long text would hold up others.
    found.push(...widest(text, here))
  }
  return widest(text, found)
}

/** What may be quoted: `120g` of 120, and no point behind it. */
function within(text: string, start: number, end: number): ReadablePlace | undefined {
  let [from, to] = [start, end]
  while (to > from && /[.,;:!?\s]/.test(text[to - 1]!)) to--
  while (from > Math.max(0, start - FURTHER) && !mayBegin(text, from)) from--
  while (to < Math.min(text.length, end + FURTHER) && !mayEnd(text, to)) to++
  // Another number beside it would be read with it: `15:30` is no 15.
  if (DIGIT.test(text.slice(from, start)) || DIGIT.test(text.slice(end, to))) return undefined
  return from < to && mayBegin(text, from) && mayEnd(text, to) ? { start: from, end: to } : undefined
}

/** What may be a value by itself, or a part of one with its neighbour. */
interface Place extends ReadablePlace {
  readonly part: 'number' | 'weekday' | 'date' | 'time' | 'amount'
}

function placesOf(kind: ReadableKind, text: string, language: LanguageName, context: ReaderContext): ReadablePlace[] {
  const as = (part: Place['part'], all: readonly ReadablePlace[]) => all.map(({ start, end }) => ({ part, start, end }))
  if (kind === 'number')
    return owed(
      text,
      as('number', quantities(text, language, context)).map((one) => signed(text, one)),
    )
  if (kind === 'time') return as('time', timesIn(text, language, context))
  if (kind === 'duration')
    return [...joined(text, as('amount', amountsIn(text, language, context).amounts)), ...matches(text, LENGTH)]
  const { dates, weekdays } = datesIn(text, language, context)
  const days = [...as('date', dates), ...as('weekday', weekdays)]
  if (kind === 'date') return joined(text, days)
  const times = timesIn(text, language, context).map(({ start, end }) => ({
    part: 'time' as const,
    start,
    end: end + zoneBehind(text, end),
  }))
  return [...matches(text, MOMENT), ...joined(text, [...days, ...times])]
}

const matches = (text: string, pattern: RegExp): ReadablePlace[] =>
  [...text.matchAll(pattern)].map((match) => ({ start: match.index, end: match.index + match[0].length }))

/** What is written for machines: `1:30:00`, `PT1H30M`, `2026-03-04T15:30:00Z`. */
const LENGTH = wholeWords(String.raw`\d{1,3}:[0-5]\d:[0-5]\d|p(?=t?\d)[\d.]*[ymwd]?[\d.ymwdths]*`)
const MOMENT = wholeWords(String.raw`\d{4}-\d\d-\d\d[t ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?(?:z|[+-]\d\d:?\d\d))?`)

/** Of money alone: `$5m` is not 5m. */
function signed(text: string, { start, end, part }: Place): Place {
  if (!/[kmb]/.test(text[end - 1]!)) return { start, end, part }
  const before = IS_MONEY.exec(text.slice(Math.max(0, start - 5), start))?.[0].length ?? 0
  const behind = before > 0 ? 0 : (MONEY_NEXT.exec(text.slice(end, end + 5))?.[0].length ?? 0)
  return { start: start - before, end: end + behind, part }
}

/** Accounts write what is owed in brackets, others what they say by the way: such an amount may be either. */
function owed(text: string, numbers: ReadablePlace[]): ReadablePlace[] {
  return numbers.flatMap((one) => {
    const before = OPENED.exec(text.slice(Math.max(0, one.start - 5), one.start))?.[0]
    const behind = CLOSED.exec(text.slice(one.end, one.end + 5))?.[0]
    if (before === undefined || behind === undefined) return [one]
    if (before + behind === '()' && !/[.,]\d/.test(text.slice(one.start, one.end))) return [one]
    return [{ start: one.start - before.length, end: one.end + behind.length }, one]
  })
}

/** Between a day, its date and its time: `Monday, 4 March at 5 pm`, `el 4 de marzo a las 15:30`. */
const BETWEEN = /^[,.]? ?(?:\p{L}{1,4} ){0,2}$/u

/** Neighbours that say one thing together are one. */
function joined(text: string, places: Place[]): ReadablePlace[] {
  const made: (ReadablePlace & { parts: Set<Place['part']>; end: number })[] = []
  for (const { start, end, part } of places.sort((a, b) => a.start - b.start || b.end - a.end)) {
    const last = made.at(-1)
    const gap = last && start >= last.end ? text.slice(last.end, start) : undefined
    const together = part === 'amount' ? BETWEEN_AMOUNTS : last?.parts.has(part) ? undefined : BETWEEN
    if (last && gap !== undefined && together?.test(gap)) {
      last.parts.add(part)
      last.end = end
    } else made.push({ start, end, parts: new Set([part]) })
  }
  return made
}

/** Without those that lie within others, but for numbers in brackets. */
function widest(text: string, all: ReadablePlace[]): ReadablePlace[] {
  const kept: ReadablePlace[] = []
  for (const one of all.sort((a, b) => a.start - b.start || b.end - a.end)) {
    const last = kept.at(-1)
    const bracketed = last && text[last.start] === '(' && text[last.end - 1] === ')' && one.end < last.end
    if (!last || one.end > last.end || bracketed) kept.push(one)
  }
  return kept
}
