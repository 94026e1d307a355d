import { ALL_PASS, isLevel, leaving as leavingKinds, NONE_PASS, SPECIAL } from '../automata/kinds.js'
import type { TextAutomaton } from '../automata/types.js'
import { IN_JSON } from '../values/text-length.js'

/** What is said of a place in text: characters of some kinds (see `automata/kinds.ts`) may come in any order. */
export interface Passing {
  /** All the other kinds: those whose characters may lead elsewhere. `NONE_PASS`: every kind may. `ALL_PASS`: none. */
  readonly leaving: number
  /** How many characters of the passing kinds may come, at least. */
  readonly room: number
}

/**
 * All that masks know of a place in a string without trying what comes: whole subtrees of tokens are taken or left out by
 * it. Places with the same object as their class let the same come before the closing quote.
 */
export interface StringClass extends Passing {
  /**
   * The way to the end of the string after passing characters, compared with the one from here: as long, in bytes and in
   * tokens; not longer; or not known.
   */
  readonly end: 'same' | 'shorter' | 'unknown'
  /** How many characters may come, at least, whichever they are: less than there is room for of the passing kinds, or -1. */
  readonly free: number
  /**
   * Where every character leads back to such a place, so that only how many may and must come tells these apart: how many
   * must still come. Undefined elsewhere.
   */
  readonly needed: number | undefined
}

/** So many characters are worth more than any number of some kinds. */
const MANY = 24

export function classOf(text: TextAutomaton, state: number): StringClass {
  const leaving = leavingKinds(text, state)
  if (leaving === SPECIAL && isLevel(text, state)) {
    return anyOf(text.room(state), text.distance(state))
  }
  const free = text.freedomAll(state)
  if (text.classes.count === 2 ? free > 0 : free >= MANY) return anyOf(free)
  if (leaving === NONE_PASS) return noClass(free)
  return { leaving, room: text.room(state), end: IN_JSON.endAfter(text, state), free, needed: undefined }
}

/** Where any characters may come. */
export function anyOf(room: number, needed?: number): StringClass {
  const end = needed === undefined ? 'unknown' : needed === 0 ? 'same' : 'shorter'
  return { leaving: ALL_PASS, room, end, free: room, needed }
}

/** Where no kind passes: one of its own for each place. */
export function noClass(free = -1): StringClass {
  return { leaving: NONE_PASS, room: 0, end: 'unknown', free, needed: undefined }
}
