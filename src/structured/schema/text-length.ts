import type { Classes } from '../automata/classes.js'
import type { TextAutomaton } from '../automata/types.js'
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

  constructor(bytesOf: (codePoint: number) => string) {
    this.#bytesOf = bytesOf
  }

  /** The next code point of the canonical way to the end of a text, of the fewest characters; -1 if it may end here. */
  next(text: TextAutomaton, state: number): number {
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
