/** What the grammar knows of a language of strings: a deterministic automaton over Unicode scalar values. */

import type { Classes } from './classes.js'

/** The dead state: nothing can be accepted any more. */
export const DEAD = 0

export interface TextAutomaton {
  readonly start: number
  /** Every state is below this. A counted automaton does not use all of them. */
  readonly states: number
  /** True if no text at all is accepted. */
  readonly empty: boolean
  /** Made for one text alone, of many states with few ways from each: see `sparse.ts`. */
  readonly sparse: boolean
  /** Of a sparse one: the code points that lead on from a state, ascending, and where. */
  each?(state: number, visit: (codePoint: number, next: number) => void): void
  /** Code points of one class move alike from every state. */
  readonly classes: Classes
  accepts(state: number): boolean
  /** The state after one code point; `DEAD` when nothing acceptable starts so. Lone surrogates are always dead. */
  next(state: number, codePoint: number): number
  /** As `next`, by the class of the code point. */
  step(state: number, cls: number): number
  /** The fewest code points to acceptance; `Infinity` from the dead state. */
  distance(state: number): number
  /** Whether some code point in `low..high` leads to a live state: what a half-read UTF-8 sequence may still become. */
  alive(state: number, low: number, high: number): boolean
  /** How many code points may follow, whichever they are; `Infinity`: any number. */
  freedomAll(state: number): number
  /** Whether code points of this class lead back to the same place, limits on length aside. */
  repeats(state: number, cls: number): boolean
  /** How many of those may come. */
  room(state: number): number
  /** Whether the way to the end is the same after them. */
  steady(state: number): boolean
  /** Whether a text may end wherever it has got to from here on. */
  endsAnywhere(state: number): boolean
  /**
   * The same place where only lengths are not limited, if for so many characters more it differs by its room alone: by how
   * many characters may still come.
   */
  unlimited(state: number, characters: number): Unlimited | undefined
  /** From no state acceptance is farther than this. */
  readonly farthest: number
}

export interface Unlimited {
  readonly text: TextAutomaton
  readonly state: number
  readonly room: number
}

/** A construct that cannot be compiled exactly. */
export class TextError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'TextError'
  }
}
