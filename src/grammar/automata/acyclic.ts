/** Automata without loops but those of one state are minimised in one pass, from their ends to the start. */

import type { Slices } from '../../platform/index.js'
import type { Accepting } from './table.js'
import { DEAD } from './types.js'

/** Transitions that are looked at from one pause to the next: a few milliseconds. */
export const SLICE = 65_536

/**
 * For each state reached from `start` the one that stands for all that are like it; undefined where a longer loop is
 * met, and then nothing has been changed. Otherwise the rows of `table` lead to such states alone. Pauses.
 */
export function* blocksFromEnds(
  start: number,
  width: number,
  table: Uint32Array,
  accepting: Accepting,
): Slices<Uint32Array | undefined> {
  const order = yield* fromEnds(start, width, table, accepting.length)
  if (order === undefined) return undefined
  const blocks = new Uint32Array(accepting.length)
  const alike = new Alike(width, table, accepting, order.length)
  let looked = 0
  for (const state of order) {
    looked += width
    if (looked > SLICE) {
      yield
      looked = 0
    }
    const row = state * width
    let lives = accepting[state] !== 0
    let loops = false
    for (let i = row; i < row + width; i++) {
      const to = table[i]!
      if (to === DEAD) continue
      if (to === state) loops = true
      else {
        table[i] = blocks[to]!
        if (table[i] !== DEAD) lives = true
      }
    }
    blocks[state] = lives ? alike.find(state, loops) : DEAD
  }
  return blocks
}

/** The states reached from `start`, each behind all that it leads to. */
function* fromEnds(start: number, width: number, table: Uint32Array, states: number): Slices<Uint32Array | undefined> {
  const order = new Uint32Array(states)
  const open = new Uint32Array(states)
  const cursors = new Uint32Array(states)
  const [NEW, OPEN, DONE] = [0, 1, 2]
  const phase = new Uint8Array(states)
  phase[DEAD] = DONE
  let done = 0
  let depth = 0
  if (start !== DEAD) {
    open[depth++] = start
    phase[start] = OPEN
  }
  let looked = 0
  while (depth > 0) {
    const state = open[depth - 1]!
    let at = cursors[state]!
    const before = at
    let next = DEAD
    for (const row = state * width; at < width && next === DEAD; at++) {
      const to = table[row + at]!
      if (phase[to] === NEW) next = to
      else if (phase[to] === OPEN && to !== state) return undefined
    }
    cursors[state] = at
    looked += at - before
    if (looked > SLICE) {
      yield
      looked = 0
    }
    if (next !== DEAD) {
      open[depth++] = next
      phase[next] = OPEN
    } else {
      phase[state] = DONE
      order[done++] = state
      depth--
    }
  }
  return order.subarray(0, done)
}

/** States met so far, of which no two are alike, found by their rows. */
class Alike {
  readonly #width: number
  readonly #table: Uint32Array
  readonly #accepting: Accepting
  /** A state at the place of its hash or, if that is taken, behind it. */
  readonly #slots: Uint32Array

  constructor(width: number, table: Uint32Array, accepting: Accepting, states: number) {
    this.#width = width
    this.#table = table
    this.#accepting = accepting
    // Those that loop have two places, and half are free.
    this.#slots = new Uint32Array(1 << (34 - Math.clz32(states)))
  }

  /** The one like this one, or itself, which is known from then on. */
  find(state: number, loops: boolean): number {
    if (!loops) return this.#place(state, DEAD) ?? state
    // What it leads to may go on as it does itself.
    for (let i = state * this.#width; i < (state + 1) * this.#width; i++) {
      const to = this.#table[i]!
      if (to !== DEAD && to !== state && this.#same(state, to)) return to
    }
    const known = this.#place(state, state)
    if (known !== undefined) return known
    // Another that leads here, where this one leads to itself, is like it.
    this.#place(state, DEAD)
    return state
  }

  /** `self` is hashed as a state of any name. */
  #place(state: number, self: number): number | undefined {
    const last = this.#slots.length - 1
    let at = this.#hash(state, self) & last
    for (let known = this.#slots[at]!; known !== DEAD; known = this.#slots[at]!) {
      if (known !== state && this.#same(state, known)) return known
      at = (at + 1) & last
    }
    this.#slots[at] = state
    return undefined
  }

  #hash(state: number, self: number): number {
    let hash = this.#accepting[state]!
    for (let i = state * this.#width; i < (state + 1) * this.#width; i++) {
      const to = this.#table[i]!
      hash = Math.imul(hash ^ (to === self && self !== DEAD ? 0x7fffffff : to), 0x9e3779b1)
      hash ^= hash >>> 15
    }
    return hash
  }

  #same(a: number, b: number): boolean {
    if (this.#accepting[a] !== this.#accepting[b]) return false
    const rowA = a * this.#width
    const rowB = b * this.#width
    for (let i = 0; i < this.#width; i++) {
      const toA = this.#table[rowA + i]!
      const toB = this.#table[rowB + i]!
      if (toA !== toB && !(toA === a && toB === b)) return false
    }
    return true
  }
}
