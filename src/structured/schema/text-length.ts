import type { Classes } from '../automata/classes.js'
import { TableAutomaton } from '../automata/table.js'
import { DEAD, type TextAutomaton } from '../automata/types.js'
import { toBytes } from './format.js'

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

/** No text of so many code points takes more bytes, none of them taking more than `widest`. */
export function longestText(characters: number, widest: number): number {
  return characters * (characters > SPELLED ? MOST_BYTES : widest)
}

/** How the characters of a text are written, and so how long its shortest way to the end is. */
export class CharacterSpelling {
  readonly #bytesOf: (codePoint: number) => string
  readonly #lengths = new WeakMap<TextAutomaton, Map<number, number>>()
  readonly #sizes = new WeakMap<Classes, Uint8Array>()
  readonly #leasts = new WeakMap<TableAutomaton, Float64Array>()

  constructor(bytesOf: (codePoint: number) => string) {
    this.#bytesOf = bytesOf
  }

  /**
   * The next code point of the canonical way to the end of a text; -1 if it may end here. The way takes the fewest bytes, or,
   * where lengths are counted, of the fewest characters those that look shortest one by one.
   */
  next(text: TextAutomaton, state: number): number {
    if (text instanceof TableAutomaton) return this.#nextOf(text, state)
    const wanted = text.distance(state) - 1
    if (wanted < 0) return -1
    const sizes = this.#sizesOf(text.classes)
    let best = 0
    for (let cls = 1; cls < sizes.length; cls++) {
      if (best !== 0 && sizes[cls]! >= sizes[best]!) continue
      const next = text.step(state, cls)
      if (next !== 0 && text.distance(next) === wanted) best = cls
    }
    return best === 0 ? -1 : text.classes.sample(best)
  }

  #nextOf(text: TableAutomaton, state: number): number {
    const least = this.#leastOf(text)
    const left = least[state]!
    if (left === 0 || left === Infinity) return -1
    const sizes = this.#sizesOf(text.classes)
    for (let cls = 1; cls < sizes.length; cls++) {
      const next = text.step(state, cls)
      if (next !== DEAD && sizes[cls]! + least[next]! === left) return text.classes.sample(cls)
    }
    return -1
  }

  /** By state: the bytes of the shortest way to the end, found from the ends backwards. */
  #leastOf(text: TableAutomaton): Float64Array {
    const known = this.#leasts.get(text)
    if (known !== undefined) return known
    const sizes = this.#sizesOf(text.classes)
    const width = sizes.length
    const { table, states } = text
    const first = new Uint32Array(states + 1)
    for (let i = 0; i < table.length; i++) first[table[i]! + 1]!++
    for (let s = 1; s <= states; s++) first[s]! += first[s - 1]!
    const steps = new Uint32Array(table.length)
    const filled = first.slice()
    for (let i = 0; i < table.length; i++) steps[filled[table[i]!]!++] = i
    const least = new Float64Array(states).fill(Infinity)
    const byLength: number[][] = [[]]
    for (let s = 1; s < states; s++) {
      if (!text.accepts(s)) continue
      least[s] = 0
      byLength[0]!.push(s)
    }
    for (let length = 0; length < byLength.length; length++) {
      for (const state of byLength[length] ?? []) {
        if (least[state] !== length) continue
        for (let j = first[state]!; j < first[state + 1]!; j++) {
          const before = (steps[j]! / width) | 0
          const cls = steps[j]! % width
          const through = length + sizes[cls]!
          if (cls === 0 || before === DEAD || through >= least[before]!) continue
          least[before] = through
          byLength[through] ??= []
          byLength[through].push(before)
        }
      }
    }
    this.#leasts.set(text, least)
    return least
  }

  /** By class: the bytes of its sample, which takes no more than any of its characters, where one is of ASCII. */
  #sizesOf(classes: Classes): Uint8Array {
    let sizes = this.#sizes.get(classes)
    if (sizes === undefined) {
      sizes = Uint8Array.from({ length: classes.count }, (_, cls) => this.#bytesOf(classes.sample(cls)).length)
      this.#sizes.set(classes, sizes)
    }
    return sizes
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
    if (text instanceof TableAutomaton) return this.#leastOf(text)[state]!
    const characters = text.distance(state)
    if (characters === Infinity) return Infinity
    if (characters > SPELLED) return characters * MOST_BYTES
    let known = this.#lengths.get(text)
    if (known === undefined) {
      known = new Map()
      this.#lengths.set(text, known)
    }
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
