/**
 * Automata of many states with few ways from each, and none that leads back: what a text's own stretches are. They are
 * made for one text, and nobody keeps what is learned of their places.
 */

import { below } from './ascending.js'
import { Classes, NEVER } from './classes.js'
import { DEAD, type TextAutomaton } from './types.js'

/** Moves of all states: those of a state are `first[state]` up to `first[state + 1]`, by their classes. */
export interface Moves {
  readonly first: Uint32Array
  readonly classes: Uint16Array
  readonly to: Uint32Array
}

/** What they have in common: few characters lead on, and nowhere back. */
export abstract class OfOneText {
  readonly sparse = true
  abstract readonly classes: Classes

  abstract step(state: number, cls: number): number

  next(state: number, codePoint: number): number {
    return this.step(state, this.classes.of(codePoint))
  }

  /** There are always characters that may not come. */
  freedomAll(state: number): number {
    return state === DEAD ? -1 : 0
  }

  repeats(): boolean {
    return false
  }

  room(): number {
    return -1
  }

  steady(): boolean {
    return false
  }

  endsAnywhere(): boolean {
    return false
  }

  unlimited(): undefined {
    return undefined
  }
}

export class SparseAutomaton extends OfOneText implements TextAutomaton {
  readonly start: number
  readonly states: number
  readonly empty: boolean
  readonly classes: Classes
  /** Each leads to states of higher numbers. */
  readonly moves: Moves
  readonly #accepting: Uint8Array
  readonly #distances: Uint32Array
  readonly farthest: number
  #longest: number | undefined

  /** The characters that there are, ascending: the class of `letters[i]` is `FIRST_LETTER + i`. */
  readonly letters: Uint32Array

  /** From every state but the dead one an end can be reached. */
  constructor(letters: Uint32Array, moves: Moves, accepting: Uint8Array, classes = classesOf(letters)) {
    super()
    this.letters = letters
    this.classes = classes
    this.moves = moves
    this.states = accepting.length
    this.empty = this.states < 2
    this.start = this.empty ? DEAD : 1
    this.#accepting = accepting
    const distances = new Uint32Array(this.states)
    let farthest = 0
    for (let state = this.states - 1; state > DEAD; state--) {
      if (accepting[state] !== 0) continue
      let least = FAR
      for (let i = moves.first[state]!; i < moves.first[state + 1]!; i++) {
        least = Math.min(least, distances[moves.to[i]!]! + 1)
      }
      distances[state] = least
      if (least > farthest) farthest = least
    }
    this.#distances = distances
    this.farthest = farthest
  }

  /** By state the cost of the cheapest way to an end, where characters of a class cost so much, and ending costs `end`. */
  cheapest(costs: Uint8Array, end = (state: number): number => (this.accepts(state) ? 0 : Infinity)): Float64Array {
    const { first, classes, to } = this.moves
    const least = new Float64Array(this.states).fill(Infinity)
    // Each leads to states of higher numbers: from the last one on all is known that is needed.
    for (let state = this.states - 1; state > DEAD; state--) {
      least[state] = end(state)
      for (let i = first[state]!; i < first[state + 1]!; i++) {
        least[state] = Math.min(least[state]!, least[to[i]!]! + costs[classes[i]!]!)
      }
    }
    return least
  }

  /** The most characters of a text. */
  get longest(): number {
    this.#longest ??= this.#measured()
    return this.#longest
  }

  #measured(): number {
    const { first, to } = this.moves
    const longest = new Uint32Array(this.states)
    for (let state = this.states - 1; state > DEAD; state--) {
      for (let i = first[state]!; i < first[state + 1]!; i++) {
        longest[state] = Math.max(longest[state]!, longest[to[i]!]! + 1)
      }
    }
    return longest[this.start]!
  }

  /** What is kept of it. */
  get bytes(): number {
    const { first, classes, to } = this.moves
    return first.byteLength + classes.byteLength + to.byteLength + 5 * this.states
  }

  accepts(state: number): boolean {
    return this.#accepting[state] !== 0
  }

  step(state: number, cls: number): number {
    const { classes, to, first } = this.moves
    const at = this.#at(state, cls)
    return at < first[state + 1]! && classes[at] === cls ? to[at]! : DEAD
  }

  distance(state: number): number {
    return state === DEAD ? Number.POSITIVE_INFINITY : this.#distances[state]!
  }

  alive(state: number, low: number, high: number): boolean {
    const { first, classes } = this.moves
    const at = this.#at(state, FIRST_LETTER + below(this.letters, low))
    return at < first[state + 1]! && this.letters[classes[at]! - FIRST_LETTER]! <= high
  }

  each(state: number, visit: (codePoint: number, next: number) => void): void {
    const { first, classes, to } = this.moves
    for (let i = first[state]!; i < first[state + 1]!; i++) visit(this.letters[classes[i]! - FIRST_LETTER]!, to[i]!)
  }

  /** Where the first move of this class or a higher one is. */
  #at(state: number, cls: number): number {
    const { first, classes } = this.moves
    return below(classes, cls, first[state]!, first[state + 1]!)
  }
}

/** From where no end is reached; one more is still a number of 32 bits. */
export const FAR = 0xfffffffe
/** Of the characters that stand nowhere. */
const OTHERS = 1
export const FIRST_LETTER = 2
/** More classes cannot be told apart. */
export const MOST_LETTERS = 0xffff - FIRST_LETTER

/** A class for each letter, and one for all else. */
export function classesOf(letters: Uint32Array): Classes {
  const starts: number[] = []
  const ids: number[] = []
  const begin = (codePoint: number, id: number) => {
    if (starts.at(-1) === codePoint) ids[ids.length - 1] = id
    else if (ids.at(-1) !== id) {
      starts.push(codePoint)
      ids.push(id)
    }
  }
  begin(0, OTHERS)
  let surrogates = false
  const passSurrogates = () => {
    begin(0xd800, NEVER)
    begin(0xe000, OTHERS)
    surrogates = true
  }
  letters.forEach((letter, i) => {
    if (letter >= 0xe000 && !surrogates) passSurrogates()
    begin(letter, FIRST_LETTER + i)
    if (letter < 0x10ffff && letter !== 0xd7ff) begin(letter + 1, OTHERS)
  })
  if (!surrogates) passSurrogates()
  return new Classes(starts, ids, FIRST_LETTER + letters.length)
}
