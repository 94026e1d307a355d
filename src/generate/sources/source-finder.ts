/**
 * Finds where a conversation says the values of one document, one after the other. Of several places it is the first
 * that stands behind the source before it, in the same text; else the first of the first text that has it.
 */
import type { Source } from '../../contract/index.js'
import { isOfWord, mayBegin, mayEnd, nextBegin } from '../../platform/index.js'
import { BEFORE_NUMBER, BEHIND_NUMBER, formsOfNumber, formsOfString } from './forms.js'
import { formsOfDate } from './forms-of-date.js'
import type { Ground, Grounds } from './grounds.js'

type Value = string | number | boolean | null
type Search = (text: string, from: number) => readonly [start: number, end: number] | undefined

/** Of a text that begins within words again and again no more places are looked at. */
const MOST_TRIES = 10_000

export class SourceFinder {
  readonly #grounds: Grounds
  /** Values that are said nowhere. */
  readonly #nowhere = new Set<Value>()
  #last: { readonly ground: Ground; readonly end: number } | undefined

  constructor(grounds: Grounds) {
    this.#grounds = grounds
  }

  /** Undefined where nothing says it: of true, false and null nothing does. */
  find(value: Value, isQuote = this.#grounds.quoted): Source | undefined {
    if (value === null || typeof value === 'boolean' || this.#nowhere.has(value)) return undefined
    for (const search of searchesFor(value, isQuote)) {
      const found = this.#behind(search, isQuote) ?? this.#anywhere(search)
      if (found) return found
    }
    // A sign alone may yet be quoted.
    if (isQuote || typeof value === 'number' || isOfWord(value)) this.#nowhere.add(value)
    return undefined
  }

  /** A quote is never of what others say, where one such source may have been. */
  #behind(search: Search, isQuote: boolean): Source | undefined {
    if (!this.#last || (isQuote && !this.#last.ground.given)) return undefined
    return this.#in(this.#last.ground, search, this.#last.end)
  }

  #anywhere(search: Search): Source | undefined {
    for (const ground of this.#grounds.texts) {
      const found = this.#in(ground, search, 0)
      if (found) return found
    }
    return undefined
  }

  #in(ground: Ground, search: Search, from: number): Source | undefined {
    const found = search(ground.text, from)
    if (!found) return undefined
    const [start, end] = found
    this.#last = { ground, end }
    return { message: ground.message, part: ground.part, start, end }
  }
}

/** As it is before other forms of it, whose patterns are made only where it does not stand as it is. */
function* searchesFor(value: string | number, isQuote: boolean): Generator<Search> {
  if (typeof value === 'number') {
    const digits = value.toString()
    yield (text, from) => exactly(digits, text, from, isNumberBorder)
    yield* searching(formsOfNumber(value))
    return
  }
  const wanted = value.trim()
  const ofWord = isOfWord(wanted)
  // A sign alone says little, but where it was taken from the text.
  if (ofWord || (isQuote && wanted !== '')) yield (text, from) => exactly(wanted, text, from, isWordBorder)
  if (!ofWord) return
  yield* searching(formsOfDate(wanted))
  yield* searching(formsOfString(wanted))
}

function* searching(pattern: RegExp | undefined): Generator<Search> {
  if (!pattern) return
  yield (text, from) => {
    pattern.lastIndex = from
    const found = pattern.exec(text)
    return found ? [found.index, found.index + found[0].length] : undefined
  }
}

/** Whether what stands from `start` to `end` is a whole of its kind. */
type AreBorders = (text: string, start: number, end: number) => boolean

const isWordBorder: AreBorders = (text, start, end) => mayBegin(text, start) && mayEnd(text, end)

/** As `formsOfNumber` has it. */
const BEFORE = new RegExp(`(?:[\\u2212-]|${BEFORE_NUMBER})$`, 'u')
const BEHIND = new RegExp(`^${BEHIND_NUMBER}`, 'u')
/** No unit is longer. */
const LONGEST_UNIT = 60

const isNumberBorder: AreBorders = (text, start, end) =>
  !BEFORE.test(text.slice(Math.max(0, start - 4), start)) && !BEHIND.test(text.slice(end, end + LONGEST_UNIT))

function exactly(
  wanted: string,
  text: string,
  from: number,
  areBorders: AreBorders,
): readonly [number, number] | undefined {
  let at = text.indexOf(wanted, from)
  for (let tries = 0; at >= 0 && tries < MOST_TRIES; tries++) {
    const end = at + wanted.length
    if (areBorders(text, at, end)) return [at, end]
    at = text.indexOf(wanted, mayBegin(text, at) ? at + 1 : nextBegin(text, at))
  }
  return undefined
}
