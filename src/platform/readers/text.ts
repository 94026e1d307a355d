/** Text as readers see it, and patterns made of words. */
import { getOrMake, LruMap } from '../maps.js'
import type { LanguageWords } from './words/index.js'

/** Lower case, without accents, one kind of blank, apostrophe and dash; no longer than it must be. */
export function plain(text: string): string {
  return (
    text
      .replace(/[¼-¾⅐-⅞]/g, ' $&')
      // Raised digits are no part of the number before them.
      .replace(/[⁺⁻]/g, '^')
      .replace(/[²³¹⁰⁴-⁹]+/g, '^$&')
      // A number in a ring is none of the digits beside it.
      .replace(RINGED, '|$&|')
      .normalize('NFKD')
      .replace(/\p{M}+/gu, '')
      .replace(BIDI, '')
      .replace(/(?![0-9])\p{Nd}/gu, digit)
      .toLowerCase()
      .replaceAll('ß', 'ss')
      .replace(/[’‘ʼ`´]/g, "'")
      .replace(/[−‐‑‒–—]/g, '-')
      .replaceAll('٪', '%')
      // In Arabic it parts thousands, and nothing else.
      .replaceAll('٬', "'")
      // It says where a word may be parted.
      .replaceAll('\u00ad', '')
      .replace(PARTED, '|')
      .replace(/[\s\u200B-\u200D\u2060\uFEFF]+/g, ' ')
      .replace(MIXED, mixed)
      .replace(/^ | ?[.,;!?]* ?$/g, '')
  )
}

/** Between two lines or cells of numbers; one blank may part the thousands of one. */
const PARTED =
  /(?<=\p{Nd}[\u061C\u200E\u200F]*)(?:(?:\s[\u061C\u200E\u200F]*){2,}|[\t-\r\u2028\u2029][\u061C\u200E\u200F]*)(?=\p{Nd}{3}(?!\p{Nd}))/gu
const parted = new RegExp(PARTED, 'uy')

const RINGED = /[①-⒛⓪-⓿❶-➓㉈-㉏㉑-㉟㊱-㊿]/gu
/** Which way is written, and nothing else. */
const BIDI = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]+/g

/** Of any script, as it is counted there: its ten digits stand in a row. */
function digit(char: string): string {
  const code = char.codePointAt(0)!
  let zero = code
  while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero--
  return String((code - zero) % 10)
}

/** `1 1/2`, which is no date and no ratio. */
const MIXED = /(?<=(?<![\d.,/])\d{1,3} )(\d)\/([2-9])(?![\d/])/g
const mixed = (all: string, above: string, below: string) => (above < below ? `${above}⁄${below}` : all)

/** `plain` of a part of a text, and for each of its characters where it stands there. */
export function plainPlaces(text: string, from: number, to: number): { plain: string; places: number[] } {
  let made = ''
  const places: number[] = []
  for (let at = from; at < to; ) {
    const code = text.codePointAt(at)!
    const char = String.fromCodePoint(code)
    let one = char
    parted.lastIndex = at
    const gap = BLANK.test(char) ? (parted.exec(text)?.[0].length ?? 0) : 0
    if (gap > 0) one = '|'
    else if (code < 0x80) one = code <= 0x20 ? ' ' : code === 0x60 ? "'" : char.toLowerCase()
    else if (BLANK.test(char)) one = ' '
    // Brackets keep `plain` from taking it for an edge.
    else one = plain(`(${char}(`).slice(1, -1)
    if (one !== ' ' || !made.endsWith(' ')) {
      made += one
      for (let i = 0; i < one.length; i++) places.push(at)
    }
    at += gap || char.length
  }
  return { plain: made.replace(MIXED, mixed), places }
}

const BLANK = /^[\s\u200B-\u200D\u2060\uFEFF]$/

/** As `plain` writes `½`. */
export const FRACTION = /(?<!\d)(\d)⁄([1-9]0?)(?!\d)/g

const escaped = (word: string) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

/** Any of these words, the longest first. */
export function anyWord(words: Iterable<string>): string {
  const all = [...words].sort((a, b) => b.length - a.length)
  return all.length === 0 ? '(?!)' : `(?:${all.map(escaped).join('|')})`
}

/** `two thirds`: how many, and into how many parts. */
export const fractionIn = ({ numbers, articles, parts }: LanguageWords): string =>
  String.raw`(?:(${anyWord([...Object.keys(numbers), ...articles])})[\s-]?)?(${anyWord(Object.keys(parts))})`

/** `and a half`, behind a number or a unit. */
export const moreIn = (words: LanguageWords): RegExp =>
  new RegExp(String.raw`[\s-]${anyWord(words.and)}[\s-]${fractionIn(words)}(?!\p{L})`, 'uy')

/** Of the two groups of these patterns. */
export const fraction = ([, count, part]: RegExpExecArray, { numbers, parts }: LanguageWords): number =>
  (numbers[count ?? ''] ?? 1) / Math.abs(parts[part!]!)

/** A pattern that neither begins nor ends within a word or a number. */
export const wholeWords = (pattern: string, flags = 'gu'): RegExp =>
  new RegExp(`(?<![\\p{L}\\d])(?:${pattern})(?![\\p{L}\\d])`, flags)

/** What is made of a language's words, once for each language: to compile a pattern takes longer than to look for it. */
export function ofWords<T>(make: (words: LanguageWords) => T): (words: LanguageWords) => T {
  const made = new Map<LanguageWords, T>()
  return (words) => getOrMake(made, words, () => make(words))
}

/** What is true of a whole text, or locale, found once for the last few: each of its thousand values asks. */
export function ofLast<T>(find: (text: string) => T): (text: string) => T {
  const found = new LruMap<string, { readonly value: T }>(4)
  return (text) => getOrMake(found, text, () => ({ value: find(text) })).value
}

/** Right before a place: what ends there is sought from each character on, and no words before a value reach so far. */
const NEAR = 80
export const rightBefore = (text: string, end: number): string => text.slice(Math.max(0, end - NEAR), end)

/** `text` with blanks in place of what was read. */
export const blanked = (text: string, start: number, end: number): string =>
  text.slice(0, start) + ' '.repeat(end - start) + text.slice(end)
