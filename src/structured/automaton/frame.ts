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

/** The construct may end here without a byte of its own, as a number may: what lies below then goes on. */
export const ENDS = 1
/** The answer rests on a key that is not known yet; see `ObjectState.resolve`. */
export const UNCERTAIN = 2
/** The length is a bound that knowing that key may lower. */
export const GUESSED = 4
/** Inside a string or a key read letter by letter: the frame is a `ContentFrame`, and `move` knows every byte but the closing quote. */
export const IN_STRING = 8
/** Free text outside of any string: the frame is a `Passing`. */
export const FREE_TEXT = 16
/** White space may come first: the frame is a `BlankFrame`. */
export const SPACED = 32
/** Behind an item of which the automaton must be told what it was, so that it does not come again: an `UntoldFrame`. */
export const UNTOLD = 64
/** Before the first of such items. */
export const OPENS_ITEMS = 128
/** In an item that begins as one that has come, and may not end here as that one does: an `ItemFrame`. */
export const LIKE_USED = 256

/** Where the automaton stands inside one construct: a string, an array, a key. Immutable, one object per place. */
export abstract class Frame {
  /** The bits above. One field, which all kinds of frames have in the same place: every step of the automaton reads it. */
  readonly traits: number

  constructor(traits = 0) {
    this.traits = traits
  }

  get ends(): boolean {
    return (this.traits & ENDS) !== 0
  }

  get guessed(): boolean {
    return (this.traits & GUESSED) !== 0
  }

  get inString(): boolean {
    return (this.traits & IN_STRING) !== 0
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

  /** Directly below this frame that one changes nothing: whatever both allow, this one does. */
  get absorbs(): Frame | undefined {
    return undefined
  }

  /** Whether that frame directly above this one changes nothing. */
  swallows(_above: Frame): boolean {
    return false
  }

  /** How many bytes the canonical shortest way to the end of the construct takes. */
  abstract readonly length: number

  /** Those bytes, some of them loose. Asked for only where they are few. */
  abstract spell(): Bytes
}

/** Behind an item: what stands there once it is told. */
export interface UntoldFrame extends Frame {
  told(item: Bytes): Frame
}
