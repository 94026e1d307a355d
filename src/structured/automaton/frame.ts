import { NONE_PASS } from '../automata/kinds.js'
import type { Cell, Cells } from './cell.js'

/** Bytes are held as strings of one character per byte: cheap to slice, compare and use as keys. */
export type Bytes = string

/**
 * Added to a byte that another may stand for, once a key is known that is not known yet: it counts as a token of its own,
 * so that no way turns out to take more tokens than was thought.
 */
export const LOOSE = 0x100

export function loosened(bytes: Bytes): Bytes {
  let loose = ''
  for (let i = 0; i < bytes.length; i++) loose += String.fromCharCode(bytes.charCodeAt(i) | LOOSE)
  return loose
}

/** Where the automaton stands inside one construct: a string, an array, a key. Immutable, one object per place. */
export abstract class Frame {
  /** Whether the construct may end here without a byte of its own, as a number may: what lies below then goes on. */
  readonly ends: boolean = false
  /** Whether its answer rests on a key that is not known yet; see `ObjectPlaceFrame.resolve`. */
  readonly uncertain: boolean = false
  /** Whether its length is a bound that knowing that key may lower. */
  readonly guessed: boolean = false
  /** Inside a string or a key read letter by letter: `move` knows every byte but the closing quote. */
  readonly inString: boolean = false
  /** The kinds of characters (see `automata/kinds.ts`) that change more here than how many of them may still come. */
  readonly leaving: number = NONE_PASS
  /** How many of the other kinds may come, whichever they are. */
  readonly room: number = -1
  /** Whether one more may not. */
  readonly exact: boolean = true
  /** Whether so many characters of all kinds may come, also escaped ones. */
  readonly anything: boolean = false
  /** Whether all those lead to places with one and the same way to the end. */
  readonly settled: boolean = false

  /** A frame where the same may come as here before the closing quote, shared by as many as can be; often this one. */
  get inside(): Frame {
    return this
  }

  /** A frame of whose next `bytes` bytes all is said that can be said of this one's; often this one. */
  twin(_bytes: number): Frame {
    return this
  }

  /** No matter which of those kinds come, between two characters the way to the end is then at most this long. */
  get longestWithin(): number {
    return Infinity
  }

  /** No matter what comes, the way to the end is at most this long, as long as the string has not been closed. */
  get longest(): number {
    return Infinity
  }

  /**
   * Adds where the automaton may stand after one more byte of this construct; where it ends without one, `step` is asked
   * of what lies below as well. `below` is what follows this construct.
   */
  abstract step(byte: number, below: Cell, out: Cells): void

  /** As `step` where what lies below does not matter: the frame that takes this one's place, null for none; undefined: ask `step`. */
  move(_byte: number): Frame | null | undefined {
    return undefined
  }

  /** Adds every byte of its own that may come next; false if they are too many to be worth a list. */
  abstract next(below: Cell, into: Set<number>): boolean

  /** How many bytes the canonical shortest way to the end of the construct takes. */
  abstract readonly length: number

  /** Those bytes, some of them loose. Asked for only where they are few. */
  abstract spell(): Bytes
}
