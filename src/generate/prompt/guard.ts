import { getOrMake, type Slices } from '../../platform/index.js'

/** What a guard finds: the first letters of control tokens in every text, in those that are not trusted of all these added tokens. */
export interface Guarded {
  readonly special: RegExp | undefined
  readonly added: RegExp | undefined
}

/**
 * Keeps control tokens that a message spells out (`<|im_end|>` typed by a user) from controlling the model. A sentinel
 * is put inside each of them before the template runs, and taken out after the rendered prompt was cut at its real
 * control tokens, so that the template's own tokens are the only ones.
 */
export class Guard {
  readonly #sentinel: string
  readonly #guarded: Guarded
  /** What numbers in place of others begin with, as no text has it; nothing: there is no need of them. */
  readonly #digits: string | undefined
  /** Those others. */
  readonly #long: string[] = []

  constructor(sentinel: string, guarded: Guarded, digits?: string) {
    this.#sentinel = sentinel
    this.#guarded = guarded
    this.#digits = digits
  }

  /** `trusted` texts keep markers such as `<think>`, which models write themselves; control tokens never pass. */
  protect(text: string, trusted: boolean): string {
    const pattern = trusted ? this.#guarded.special : this.#guarded.added
    if (pattern === undefined) return text
    return text.replace(pattern, `$&${this.#sentinel}`)
  }

  /** `protect` for every string in a JSON value, keys included. */
  protectAll<T>(value: T): T {
    if (typeof value === 'string') return this.protect(value, false) as T
    if (Array.isArray(value)) return value.map((item) => this.protectAll(item)) as T
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [this.protect(key, false), this.protectAll(item)]),
    ) as T
  }

  /**
   * JSON in which those numbers that a double does not hold are others, which it does: templates, and what spells calls, read
   * JSON, and print these as they are. `reveal` has them as they were written.
   */
  holdNumbers(json: string): string {
    const digits = this.#digits
    if (digits === undefined || !LONG_ENOUGH.test(json)) return json
    return json.replace(STRING_OR_NUMBER, (found) => {
      if (!isLong(found) || this.#long.length === 10 ** COUNT) return found
      return digits + String(this.#long.push(found) - 1).padStart(COUNT, '0')
    })
  }

  /** A place in a prompt by its number: no text that was protected has one, for none has two sentinels side by side. */
  mark(number: number): string {
    return `${this.#sentinel}${this.#sentinel}${number}${this.#sentinel}`
  }

  /** Takes the sentinels out again. */
  reveal(text: string): string {
    const whole = text.replaceAll(this.#sentinel, '')
    if (this.#long.length === 0) return whole
    return whole.replace(
      new RegExp(`${this.#digits}(\\d{${COUNT}})`, 'g'),
      (held, number) => this.#long[+number] ?? held,
    )
  }
}

/** A text that does not end goes to the end: each of its quotes would else have all that follows looked through. */
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"?|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/gs

/** Of a whole number: nobody means the seventeenth digit of another. */
const isLong = (found: string): boolean => /^-?\d{16,}$/.test(found) && !Number.isSafeInteger(Number(found))

/** Digits that count the numbers which were put in place of others. */
const COUNT = 6
/** What these may begin with: with so many digits behind it a double holds them. */
export const BEGINNINGS = Array.from({ length: 16 }, (_, i) => String(8_013_970_246 + 48_271_337 * i))

/** What such numbers begin with in a conversation whose calls have `json` among their arguments, if they need any. */
export function* digitsFor(json: Iterable<string>, texts: Iterable<string>): Slices<string | undefined> {
  let isNeeded = false
  for (const each of json) isNeeded ||= LONG_ENOUGH.test(each)
  if (!isNeeded) return undefined
  let left: readonly string[] = BEGINNINGS
  let seen = 0
  for (const text of texts) {
    left = left.filter((digits) => !text.includes(digits))
    seen += text.length
    if (seen < SLICE) continue
    seen = 0
    yield
  }
  return left[0]
}

const LONG_ENOUGH = /\d{16}/

/** Once for a model: there may be thousands. */
export const guarded = (special: readonly string[], added: readonly string[]): Guarded => ({
  special: patternOf(special),
  added: patternOf(added),
})

/** Finds the first letter alone, for another may begin within one: `</a>` and `><b>`. */
function patternOf(texts: readonly string[]): RegExp | undefined {
  // By first letters: of other letters a text is looked through at once.
  const behind = new Map<string, string[]>()
  for (const text of texts) {
    // One character has no inside to put a sentinel into; no model controls anything with a letter.
    if (text.length < 2) continue
    // A letter of two halves is only parted where it is all there is: as JSON they would be two.
    const first = text.length > 2 ? String.fromCodePoint(text.codePointAt(0)!) : text[0]!
    getOrMake(behind, escaped(first), () => []).push(escaped(text.slice(first.length)))
  }
  if (behind.size === 0) return undefined
  // What parts the first letter parts whatever begins with it.
  const halvesFirst = [...behind].sort(([a], [b]) => a.length - b.length)
  return new RegExp(halvesFirst.map(([first, rest]) => `${first}(?=${rest.join('|')})`).join('|'), 'g')
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')

/** Characters between two pauses. */
const SLICE = 2 ** 18

/**
 * A character that none of the texts holds, which are all that callers wrote. Unicode's noncharacters are for such use
 * inside a program.
 */
export function* sentinelFor(texts: Iterable<string>): Slices<string> {
  const used = new Set<number>()
  let seen = 0
  for (const text of texts) {
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i)
      if (code >= 0xe000 && code <= 0xfdef) used.add(code)
    }
    seen += text.length
    if (seen < SLICE) continue
    seen = 0
    yield
  }
  for (let code = 0xfdef; code >= 0xfdd0; code--) if (!used.has(code)) return String.fromCharCode(code)
  for (let code = 0xf8ff; code >= 0xe000; code--) if (!used.has(code)) return String.fromCharCode(code)
  throw new RangeError('The messages use every private character there is.')
}
