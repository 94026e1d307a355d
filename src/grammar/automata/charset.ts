/** Sets of code points as flat, sorted, disjoint, inclusive ranges: [low, high, low, high, ...]. */

export type CharSet = readonly number[]

const LAST = 0x10ffff
const SURROGATE_LOW = 0xd800
const SURROGATE_HIGH = 0xdfff

/** Every Unicode scalar value: JSON text in UTF-8 can hold no lone surrogate. */
export const EVERY: CharSet = [0, SURROGATE_LOW - 1, SURROGATE_HIGH + 1, LAST]
export const DIGITS: CharSet = [0x30, 0x39]
export const WORD: CharSet = [0x30, 0x39, 0x41, 0x5a, 0x5f, 0x5f, 0x61, 0x7a]
/** WhiteSpace and LineTerminator of ECMAScript. */
export const SPACE: CharSet = [
  0x09, 0x0d, 0x20, 0x20, 0xa0, 0xa0, 0x1680, 0x1680, 0x2000, 0x200a, 0x2028, 0x2029, 0x202f, 0x202f, 0x205f, 0x205f,
  0x3000, 0x3000, 0xfeff, 0xfeff,
]
const LINE_ENDS: CharSet = [0x0a, 0x0a, 0x0d, 0x0d, 0x2028, 0x2029]

/** With ASCII letters in both cases, and the two signs that ECMAScript takes for `s` and `k`. */
export function caseless(set: CharSet): CharSet {
  const more: number[] = []
  for (let i = 0; i < set.length; i += 2) {
    for (let c = set[i]!; c <= set[i + 1]! && c < 0x80; c++) {
      const letter = String.fromCharCode(c).toLowerCase().charCodeAt(0)
      if (letter < 0x61 || letter > 0x7a) continue
      more.push(letter, letter, letter - 0x20, letter - 0x20)
      if (letter === 0x73) more.push(0x17f, 0x17f)
      if (letter === 0x6b) more.push(0x212a, 0x212a)
    }
  }
  return normalise([...set, ...more])
}

/** What it takes to find out which letters are the same in both cases. */
export const FOLDING_STEPS = 20_000

/** Where letters that have two cases end. */
const CASED_END = 0x1ffff
/** Pairs that neither case of the other leads to. */
const PAIRED = [
  [0x390, 0x1fd3],
  [0x3b0, 0x1fe3],
  [0xfb05, 0xfb06],
] as const

/** By letter, all that the `i` flag takes for the same: found once, and asked of the platform. */
let sameLetters: ReadonlyMap<number, readonly number[]> | undefined

function lettersInBothCases(): ReadonlyMap<number, readonly number[]> {
  const groups = new Map<number, Set<number>>()
  const link = (one: number, other: number) => {
    if (one === other || !new RegExp(`^\\u{${one.toString(16)}}$`, 'iu').test(String.fromCodePoint(other))) return
    const all = new Set([one, other, ...(groups.get(one) ?? []), ...(groups.get(other) ?? [])])
    for (const letter of all) groups.set(letter, all)
  }
  for (let letter = 0x41; letter <= CASED_END; letter++) {
    if (letter >= SURROGATE_LOW && letter <= SURROGATE_HIGH) continue
    const text = String.fromCodePoint(letter)
    for (const other of [text.toLowerCase(), text.toUpperCase()]) {
      if (other !== text && other.length === (other.codePointAt(0)! > 0xffff ? 2 : 1))
        link(letter, other.codePointAt(0)!)
    }
  }
  for (const [one, other] of PAIRED) link(one, other)
  return new Map([...groups].map(([letter, all]) => [letter, [...all]]))
}

/** As `caseless`, for letters of all scripts. */
export function caselessBeyond(set: CharSet): CharSet {
  sameLetters ??= lettersInBothCases()
  const more: number[] = []
  for (const [letter, all] of sameLetters) {
    if (contains(set, letter)) for (const other of all) more.push(other, other)
  }
  return normalise([...set, ...more])
}

/** Sorts and merges ranges, and drops surrogates. */
export function normalise(ranges: readonly number[]): CharSet {
  const pairs: [number, number][] = []
  for (let i = 0; i < ranges.length; i += 2) {
    const low = ranges[i]!
    const high = ranges[i + 1]!
    if (low < SURROGATE_LOW) pairs.push([low, Math.min(high, SURROGATE_LOW - 1)])
    if (high > SURROGATE_HIGH) pairs.push([Math.max(low, SURROGATE_HIGH + 1), high])
  }
  pairs.sort((a, b) => a[0] - b[0])
  const out: number[] = []
  for (const [low, high] of pairs) {
    if (out.length > 0 && low <= out[out.length - 1]! + 1) out[out.length - 1] = Math.max(out[out.length - 1]!, high)
    else out.push(low, high)
  }
  return out
}

export function unite(...sets: readonly CharSet[]): CharSet {
  return normalise(sets.flat())
}

export function negate(set: CharSet): CharSet {
  const out: number[] = []
  let from = 0
  for (let i = 0; i < set.length; i += 2) {
    if (set[i]! > from) out.push(from, set[i]! - 1)
    from = set[i + 1]! + 1
  }
  if (from <= LAST) out.push(from, LAST)
  return normalise(out)
}

export function contains(set: CharSet, codePoint: number): boolean {
  for (let i = 0; i < set.length; i += 2) if (codePoint >= set[i]! && codePoint <= set[i + 1]!) return true
  return false
}

/** What `.` matches. */
export const DOT: CharSet = negate(LINE_ENDS)
/** What `.` matches in Python and Rust. */
export const BUT_LINE_FEED: CharSet = negate([0x0a, 0x0a])

/** Steps that one property costs, which is looked up for every code point: 3 to 18 ms. */
export const PROPERTY_STEPS = 16_000

const properties = new Map<string, CharSet>()
/** The text of every plane, 4 MB: made anew where it has not been needed for a while. */
let planes = new WeakRef<readonly string[]>([])

/** The code points of a property as the platform's own RegExp knows them: `\p{Lu}`, `\P{Lu}`. */
export function platformClass(source: string): CharSet {
  const known = properties.get(source)
  if (known !== undefined) return known
  const opposite = (source[1] === 'p' ? '\\P' : '\\p') + source.slice(2)
  const inside = new RegExp(`${source}*`, 'uy')
  const outside = new RegExp(`${opposite}*`, 'uy')
  let texts = planes.deref()
  if (texts === undefined || texts.length === 0) {
    texts = Array.from({ length: (LAST + 1) / PLANE }, (_, i) => planeText(i * PLANE))
    planes = new WeakRef(texts)
  }
  const ranges: number[] = []
  texts.forEach((text, i) => {
    const units = i === 0 ? 1 : 2
    for (let at = 0; at < text.length; ) {
      const low = past(outside, text, at)
      at = past(inside, text, low)
      if (at > low) ranges.push(i * PLANE + low / units, i * PLANE + at / units - 1)
    }
  })
  // Plane 0 is written without its surrogates, so what follows them stands 0x800 earlier.
  const set = normalise(ranges.flatMap((_, i) => (i % 2 === 0 ? spread(ranges[i]!, ranges[i + 1]!) : [])))
  properties.set(source, set)
  return set
}

/** Where a match that begins here ends. */
function past(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  pattern.test(text)
  return pattern.lastIndex
}

const PLANE = 0x10000

function planeText(plane: number): string {
  const units = new Uint16Array(plane === 0 ? PLANE - 0x800 : 2 * PLANE)
  let at = 0
  for (let code = plane; code < plane + PLANE; code++) {
    if (code >= SURROGATE_LOW && code <= SURROGATE_HIGH) continue
    if (plane === 0) units[at++] = code
    else {
      units[at++] = SURROGATE_LOW + ((code - PLANE) >> 10)
      units[at++] = SURROGATE_LOW + 0x400 + ((code - PLANE) & 0x3ff)
    }
  }
  return new TextDecoder('utf-16le', { ignoreBOM: true }).decode(units)
}

function spread(low: number, high: number): number[] {
  const gap = SURROGATE_HIGH + 1 - SURROGATE_LOW
  if (low >= PLANE || high < SURROGATE_LOW) return [low, high]
  if (low >= SURROGATE_LOW) return [low + gap, high + gap]
  return [low, SURROGATE_LOW - 1, SURROGATE_HIGH + 1, high + gap]
}

/** ECMAScript's blanks without the mark of byte order, which to Python and Rust is none. */
const BLANKS_EVERYWHERE: CharSet = SPACE.slice(0, -2)
/** Python has the separators of ASCII, and both have the next line. */
const BLANKS_ANYWHERE: CharSet = normalise([...SPACE, 0x1c, 0x1f, 0x85, 0x85])
/** What Python's `\w` or Rust's has of Unicode. */
const WORDS_ANYWHERE = ['\\p{Alphabetic}', '\\p{M}', '\\p{N}', '\\p{Pc}', '\\p{Join_Control}']
/** Properties that what is no digit, or no letter of a word, has to be looked up by. */
export const propertiesOf = (letter: string): readonly string[] =>
  letter === 'd' ? ['\\p{Nd}'] : letter === 'w' ? WORDS_ANYWHERE : []

const shared = new Map<string, CharSet>()

/**
 * `\d`, `\w`, `\s` and their contraries as ECMAScript, Python and Rust have them: the characters on which all of them
 * agree, or where `wide`, those that one of them takes.
 */
export function sharedClass(letter: string, wide: boolean): CharSet {
  const key = `${letter}${wide}`
  const known = shared.get(key)
  if (known) return known
  const lower = letter.toLowerCase()
  const isContrary = letter !== lower
  const set = wide !== isContrary ? anywhere(lower) : everywhere(lower)
  const made = isContrary ? negate(set) : set
  shared.set(key, made)
  return made
}

const everywhere = (letter: string): CharSet => (letter === 's' ? BLANKS_EVERYWHERE : letter === 'd' ? DIGITS : WORD)

const anywhere = (letter: string): CharSet =>
  letter === 's' ? BLANKS_ANYWHERE : unite(...propertiesOf(letter).map(platformClass))
