/**
 * Where texts may be cut without cutting a word, a number or a character in two. Words are letters, digits and marks in a
 * row; in scripts that put no blanks between words every letter is one.
 */

const WORD = /[\p{L}\p{M}\p{N}]/u
/** Whether it holds a letter, a mark or a digit. */
export const isOfWord = (text: string): boolean => WORD.test(text)

/** Bits of what matters of a character here. */
const KNOWN = 1
const BLANK = 2
const OF_WORD = 4
/** Of a script without blanks between words. */
const ALONE = 8
/** It belongs to the character before it. */
const CLINGS = 16
/** So does what follows it. */
const JOINS = 32
const DIGIT = 64
/** Between two digits it is part of a number. */
const WITHIN_NUMBER = 128
const FLAG_HALF = 256
/** Of a script that puts blanks between words. */
const LETTER = KNOWN | OF_WORD

const SCRIPTS = ['Han', 'Hira', 'Kana', 'Bopo', 'Thai', 'Laoo', 'Khmr', 'Mymr', 'Tibt', 'Yiii', 'Java', 'Bali']
const KINDS: readonly (readonly [RegExp, number])[] = [
  [/\s/u, BLANK],
  // Soft hyphens and joiners stand within words.
  [/[\p{L}\p{M}\p{N}]|\u00ad|\u200c|\u200d|\u2060/u, OF_WORD],
  [new RegExp(`(?=[\\p{L}\\p{M}\\p{Nl}])[${SCRIPTS.map((script) => `\\p{scx=${script}}`).join('')}]`, 'u'), ALONE],
  // Half of the vowel AM of Thai and Lao, and the voice of narrow katakana, are letters to Unicode.
  [/\p{M}|[\u0e33\u0eb3\uff9e\uff9f]|[\u200c\u200d]|[\u{1f3fb}-\u{1f3ff}]|[\u{e0020}-\u{e007f}]/u, CLINGS],
  [/\u200d/u, JOINS],
  [/\p{Nd}/u, DIGIT],
  [/[.,'\u2019\u066b\u066c]/u, WITHIN_NUMBER],
  [/[\u{1f1e6}-\u{1f1ff}]/u, FLAG_HALF],
]

const ofBasic = new Uint16Array(0x10000)
const ofOthers = new Map<number, number>()
/** Texts of strangers may hold every character there is. */
const MOST_OTHERS = 20_000

function kindOf(codePoint: number): number {
  const known = codePoint < 0x10000 ? ofBasic[codePoint]! : (ofOthers.get(codePoint) ?? 0)
  if (known !== 0) return known
  const char = String.fromCodePoint(codePoint)
  const kind = KINDS.reduce((kind, [pattern, bit]) => (pattern.test(char) ? kind | bit : kind), KNOWN)
  if (codePoint < 0x10000) ofBasic[codePoint] = kind
  else {
    if (ofOthers.size >= MOST_OTHERS) ofOthers.clear()
    ofOthers.set(codePoint, kind)
  }
  return kind
}

/** Whether no character, and no word, goes on from `before` to `behind`. */
function parts(before: number, behind: number): boolean {
  if ((behind & CLINGS) !== 0 || ((before & JOINS) !== 0 && (behind & BLANK) === 0)) return false
  if ((before & behind & FLAG_HALF) !== 0) return false
  return (before & behind & OF_WORD) === 0 || ((before | behind) & ALONE) !== 0
}

/**
 * Whether a stretch may begin before `next`, `last` standing before it and `before` before that (0 where the text begins).
 * It hangs on what is in a text alone: wherever two texts are the same from `before` on, or from `last` on where a stretch
 * may begin there, so is the answer.
 */
function begins(before: number, last: number, next: number): boolean {
  if ((next & BLANK) !== 0) return false
  if (last === 0) return true
  if ((last & DIGIT) !== 0 && (next & WITHIN_NUMBER) !== 0) return false
  if ((before & DIGIT) !== 0 && (last & WITHIN_NUMBER) !== 0 && (next & DIGIT) !== 0) return false
  return parts(last, next)
}

/** Whether a stretch may end between `last` and `next`; `before` and `behind` stand around them, 0 where nothing does. */
function ends(before: number, last: number, next: number, behind: number): boolean {
  if (last === 0 || (last & BLANK) !== 0) return false
  if (next === 0) return true
  if ((last & DIGIT) !== 0 && (next & WITHIN_NUMBER) !== 0 && (behind & DIGIT) !== 0) return false
  if ((before & DIGIT) !== 0 && (last & WITHIN_NUMBER) !== 0 && (next & DIGIT) !== 0) return false
  return parts(last, next)
}

const isPair = (text: string, at: number): boolean =>
  at > 0 && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800 && (text.charCodeAt(at) & 0xfc00) === 0xdc00

const kindAt = (text: string, at: number): number => (at < text.length ? kindOf(text.codePointAt(at)!) : 0)

/** Where the character before this place begins. */
const stepBack = (text: string, at: number): number => (isPair(text, at - 1) ? at - 2 : at - 1)

function kindBefore(text: string, at: number): number {
  return at > 0 ? kindAt(text, stepBack(text, at)) : 0
}

/** Whether a stretch of the text may begin here: not within a word or a number, and not before a blank. */
export function mayBegin(text: string, at: number): boolean {
  if (at >= text.length || isPair(text, at)) return false
  const before = at > 0 ? kindBefore(text, stepBack(text, at)) : 0
  return begins(before, kindBefore(text, at), kindAt(text, at))
}

/** Whether it may end here: not within a word or a number, and not behind a blank. */
export function mayEnd(text: string, at: number): boolean {
  if (at <= 0 || isPair(text, at)) return false
  const before = stepBack(text, at)
  const behind = at < text.length ? kindAt(text, at + (text.codePointAt(at)! > 0xffff ? 2 : 1)) : 0
  return ends(kindBefore(text, before), kindBefore(text, at), kindAt(text, at), behind)
}

/** The next place at which one may begin; else the end. Whoever looks for a text skips the rest of a word so, however long. */
export function nextBegin(text: string, from: number): number {
  let at = from + 1
  while (at < text.length && !mayBegin(text, at)) at++
  return at
}

/** Where stretches of a text may begin and end, for each of its characters: before it, and behind it. */
export function bordersOf(codePoints: Int32Array): Uint8Array {
  const borders = new Uint8Array(codePoints.length)
  const at = (i: number) => {
    if (i >= codePoints.length) return 0
    const codePoint = codePoints[i]!
    return (codePoint < 0x10000 && ofBasic[codePoint]) || kindOf(codePoint)
  }
  let before = 0
  let last = 0
  let next = at(0)
  for (let i = 0; i < codePoints.length; i++) {
    const behind = at(i + 1)
    // Most of a text: nothing begins or ends between letters.
    if (last === LETTER && next === LETTER && behind === LETTER) {
      before = LETTER
      continue
    }
    const further = (next & DIGIT) !== 0 && (behind & WITHIN_NUMBER) !== 0 ? at(i + 2) : 0
    borders[i] = (begins(before, last, next) ? MAY_BEGIN : 0) | (ends(last, next, behind, further) ? MAY_END : 0)
    before = last
    last = next
    next = behind
  }
  return borders
}

export const MAY_BEGIN = 1
export const MAY_END = 2

/**
 * Whether a text stands in another as a stretch of it: whole words, numbers and signs. `look` hears how many characters
 * are looked at, and may put an end to it.
 */
export function isStretch(of: string, stretch: string, look: (characters: number) => void = () => {}): boolean {
  if (stretch === '') return false
  let from = 0
  for (let at = of.indexOf(stretch); at >= 0; at = of.indexOf(stretch, from)) {
    look(at - from + stretch.length)
    const begins = mayBegin(of, at)
    if (begins && mayEnd(of, at + stretch.length)) return true
    from = begins ? at + 1 : nextBegin(of, at)
  }
  look(of.length - from)
  return false
}

/** Whether there is any stretch of a text: blanks and marks alone have none, nor what no UTF-8 can hold. */
export function hasStretch(text: string): boolean {
  let begun = false
  for (let at = 0; at < text.length; ) {
    const codePoint = text.codePointAt(at)!
    const end = at + (codePoint > 0xffff ? 2 : 1)
    if ((codePoint & ~0x7ff) === 0xd800) begun = false
    else {
      begun ||= mayBegin(text, at)
      if (begun && mayEnd(text, end)) return true
    }
    at = end
  }
  return false
}
