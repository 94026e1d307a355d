import { getOrMake } from '../../platform/index.js'
import type { Classes } from '../automata/classes.js'
import { SparseAutomaton } from '../automata/sparse.js'
import { Stretches } from '../automata/stretches.js'
import { TableAutomaton } from '../automata/table.js'
import { DEAD, type TextAutomaton } from '../automata/types.js'
import type { Fuel } from '../fuel.js'
import { cheapestEnds, type Ends, type Sizes, sizesOf } from './cheapest-ends.js'
import { toBytes } from './format.js'

/** Two numbers of so many letters that look different are different, as doubles too. */
export const EXACT_LETTERS = 15

/** Texts longer than this are measured by a bound, not spelled out. */
const SPELLED = 4096
/** No code point takes more bytes in JSON text than a control character's `\u001f`. */
export const MOST_BYTES = 6

function encode(codePoint: number): string {
  return toBytes(JSON.stringify(String.fromCodePoint(codePoint)).slice(1, -1))
}

const ASCII = Array.from({ length: 128 }, (_, codePoint) => encode(codePoint))

/** The bytes of one code point inside a JSON string. */
export function encoded(codePoint: number): string {
  return ASCII[codePoint] ?? encode(codePoint)
}

/** How many they are. A surrogate by itself is escaped. */
export function encodedLength(codePoint: number): number {
  if (codePoint < 0x80) return ASCII[codePoint]!.length
  if (codePoint >= 0xd800 && codePoint < 0xe000) return 6
  return codePoint < 0x800 ? 2 : codePoint < 0x10000 ? 3 : 4
}

/** No text of so many code points takes more bytes, none of them taking more than `widest`. */
export function longestText(characters: number, widest: number): number {
  return characters * (characters > SPELLED ? MOST_BYTES : widest)
}

/** How the characters of a text are written, and so how long its shortest way to the end is. */
export class CharacterSpelling {
  readonly #bytesOf: (codePoint: number) => string
  readonly #lengths = new WeakMap<TextAutomaton, Map<number, number>>()
  readonly #sizes = new WeakMap<Classes, Sizes>()
  readonly #leasts = new WeakMap<TextAutomaton, Ends | null>()

  constructor(bytesOf: (codePoint: number) => string) {
    this.#bytesOf = bytesOf
  }

  /**
   * The next code point of the canonical way to the end of a text; -1 if it may end here. The way takes the fewest bytes, or,
   * where there are too many places to know, of the fewest characters those that look shortest one by one.
   */
  next(text: TextAutomaton, state: number): number {
    const { samples, bytes } = this.#sizesOf(text.classes)
    const least = this.#leastOf(text)
    const left = least?.from(state) ?? text.distance(state)
    if (left === 0 || left === Infinity) return -1
    if (text.sparse) return this.#nextOfFew(text, state, left)
    let best = 0
    for (let cls = 1; cls < bytes.length; cls++) {
      if (best !== 0 && (least !== undefined || bytes[cls]! >= bytes[best]!)) continue
      const next = text.step(state, cls)
      if (next !== DEAD && (least === undefined ? text.distance(next) + 1 : least.from(next) + bytes[cls]!) === left)
        best = cls
    }
    return best === 0 ? -1 : samples[best]!
  }

  #nextOfFew(text: TextAutomaton, state: number, left: number): number {
    const { bytes } = this.#sizesOf(text.classes)
    const least = this.#leastOf(text)
    let best = -1
    let size = Infinity
    text.each?.(state, (codePoint, next) => {
      const own = bytes[text.classes.of(codePoint)]!
      const rest = least === undefined ? text.distance(next) + 1 : least.from(next) + own
      if (rest !== left || own >= size) return
      best = codePoint
      size = own
    })
    return best
  }

  /** By state: the bytes of the shortest way to the end. */
  #leastOf(text: TextAutomaton): Ends | undefined {
    let known = this.#leasts.get(text)
    if (known === undefined) {
      const sizes = this.#sizesOf(text.classes)
      known = this.#endsOf(text, sizes) ?? null
      this.#leasts.set(text, known)
    }
    return known ?? undefined
  }

  #endsOf(text: TextAutomaton, sizes: Sizes): Ends | undefined {
    if (text instanceof Stretches) return { ...text.cheapest(sizes.bytes), all: undefined }
    const end = (state: number) => (text.accepts(state) ? 0 : Infinity)
    return this.#counts(text) ? undefined : cheapestEnds(text, sizes, end)
  }

  /** By state the cost of the cheapest way to an end that itself costs so much, `least` or more. */
  cheapest(text: TextAutomaton, end: (state: number) => number, least: number, fuel?: Fuel): Ends {
    const found = cheapestEnds(text, this.#sizesOf(text.classes), end, fuel)
    return found ?? { from: (state) => this.length(text, state) + least, all: undefined }
  }

  /** Whether all characters take the same, so that counting them is all. */
  #counts(text: TextAutomaton): boolean {
    return !(text instanceof TableAutomaton || text instanceof SparseAutomaton) && this.#sizesOf(text.classes).even
  }

  /** What the way to the end is after characters that lead back here but for their number: see `StringClass`. */
  endAfter(text: TextAutomaton, state: number): 'same' | 'shorter' | 'unknown' {
    if (text instanceof TableAutomaton) return 'same'
    // The shortest way may be one of more characters than there is still room for.
    if (!this.#counts(text)) return 'unknown'
    return text.steady(state) ? 'same' : 'shorter'
  }

  #sizesOf(classes: Classes): Sizes {
    return getOrMake(this.#sizes, classes, () => sizesOf(classes, this.#bytesOf))
  }

  /** From no state the shortest way to the end is longer; undefined where that is not known. */
  longest(text: TextAutomaton): number | undefined {
    const least = this.#leastOf(text)
    return least?.most ?? least?.all?.reduce((most, length) => (length < Infinity ? Math.max(most, length) : most), 0)
  }

  /** The most bytes that a character on the canonical way takes. */
  widest(text: TextAutomaton): number {
    return this.#sizesOf(text.classes).bytes.reduce((most, size, cls) => (cls === 0 ? most : Math.max(most, size)), 1)
  }

  /** The bytes of the canonical way to the end of a text. */
  spell(text: TextAutomaton, from: number): string {
    let bytes = ''
    for (let state = from; ; ) {
      const codePoint = this.next(text, state)
      if (codePoint < 0) return bytes
      bytes += this.#bytesOf(codePoint)
      state = text.next(state, codePoint)
    }
  }

  /** How many those bytes are; more than that, but never growing on the way, where spelling them would take long. */
  length(text: TextAutomaton, state: number): number {
    const least = this.#leastOf(text)
    if (least !== undefined) return least.from(state)
    const characters = text.distance(state)
    if (characters === Infinity) return Infinity
    if (characters > SPELLED) return characters * MOST_BYTES
    const known = getOrMake(this.#lengths, text, () => new Map())
    return known.get(state) ?? this.#measured(text, state, known)
  }

  /** The same for every state on the way, so that each is walked once. */
  #measured(text: TextAutomaton, from: number, known: Map<number, number>): number {
    const states: number[] = []
    const sizes: number[] = []
    let rest = 0
    for (let state = from; ; ) {
      const codePoint = this.next(text, state)
      if (codePoint < 0) break
      states.push(state)
      sizes.push(this.#bytesOf(codePoint).length)
      state = text.next(state, codePoint)
      const length = known.get(state)
      if (length === undefined) continue
      rest = length
      break
    }
    for (let i = states.length - 1; i >= 0; i--) {
      rest += sizes[i]!
      known.set(states[i]!, rest)
    }
    return rest
  }
}

/** In a JSON string, its closing quote left aside. */
export const IN_JSON = new CharacterSpelling(encoded)
/** As they are. */
export const PLAIN = new CharacterSpelling((codePoint) => toBytes(String.fromCodePoint(codePoint)))
