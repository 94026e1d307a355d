/** Those texts of a sparse automaton that another language has, or has not: sparse as it was. */

import type { Slices } from '../../platform/index.js'
import type { Fuel } from '../fuel.js'
import { FIRST_LETTER, type Moves, SparseAutomaton } from './sparse.js'
import { DEAD, type TextAutomaton, TextError } from './types.js'

/** Pairs of states, each some bytes. */
const MOST_PAIRS = 4_000_000
/** Pairs for one step of fuel: it takes a fraction of the time of others. */
const PAIRS_PER_STEP = 32
/** Pairs from one pause to the next: some milliseconds. */
const SLICE = 8192

/** `has`: whether the other language has them; throws where it takes more pairs than `most`. Pauses every few milliseconds. */
export function* textsWithin(
  a: SparseAutomaton,
  b: TextAutomaton,
  has: boolean,
  fuel: Fuel,
  most = MOST_PAIRS,
): Slices<SparseAutomaton> {
  const found = yield* pairsOf(a, b, has, fuel, most)
  const { first, to } = found.moves
  const order = yield* byLeft(found.lefts, a.states)
  const lives = new Uint8Array(order.length)
  // Whatever a pair leads to stands behind it in the order.
  for (let i = order.length - 1; i >= 0; i--) {
    if (i % SLICE === 0) yield
    const pair = order[i]!
    lives[pair] = found.ends[pair]!
    for (let move = first[pair]!; move < first[pair + 1]! && lives[pair] === 0; move++) lives[pair] = lives[to[move]!]!
  }
  const numbers = new Uint32Array(order.length)
  let states = 1
  for (const pair of order) if (lives[pair] === 1) numbers[pair] = states++
  yield
  const accepting = new Uint8Array(states)
  const firstOf = new Uint32Array(states + 1)
  const classes = new Uint16Array(found.moves.classes.length)
  const targets = new Uint32Array(classes.length)
  let kept = 0
  for (let i = 0; i < order.length; i++) {
    if (i % SLICE === 0) yield
    const pair = order[i]!
    const number = numbers[pair]!
    if (number === DEAD) continue
    accepting[number] = found.ends[pair]!
    for (let move = first[pair]!; move < first[pair + 1]!; move++) {
      const target = numbers[to[move]!]!
      if (target === DEAD) continue
      classes[kept] = found.moves.classes[move]!
      targets[kept++] = target
    }
    firstOf[number + 1] = kept
  }
  yield
  const moves = { first: firstOf, classes: classes.slice(0, kept), to: targets.slice(0, kept) }
  return new SparseAutomaton(a.letters, moves, accepting, a.classes)
}

interface Pairs {
  /** By the number of a pair: its state of the sparse automaton, and whether its texts are wanted. */
  readonly lefts: readonly number[]
  readonly ends: Uint8Array
  readonly moves: Moves
}

/** The pairs of states that texts lead to, by number. */
function* pairsOf(a: SparseAutomaton, b: TextAutomaton, has: boolean, fuel: Fuel, most: number): Slices<Pairs> {
  const { first, classes, to } = a.moves
  const classOf = Uint16Array.from(a.letters, (letter) => b.classes.of(letter))
  const known = new PairNumbers()
  known.of(a.start, b.start)
  const { lefts, rights } = known
  const starts = [0]
  const ofMoves: number[] = []
  const targets: number[] = []
  for (let pair = 0; pair < lefts.length; pair++) {
    if (pair >= most)
      throw new TextError('the texts to quote from are too long for the other requirements of the string')
    if (pair % PAIRS_PER_STEP === 0) fuel.spend(1)
    if (pair % SLICE === 0) yield
    const left = lefts[pair]!
    const right = rights[pair]!
    for (let i = first[left]!; i < first[left + 1]!; i++) {
      const next = right === DEAD ? DEAD : b.step(right, classOf[classes[i]! - FIRST_LETTER]!)
      if (next === DEAD && has) continue
      ofMoves.push(classes[i]!)
      targets.push(known.of(to[i]!, next))
    }
    starts.push(targets.length)
  }
  yield
  const ends = new Uint8Array(lefts.length)
  for (let pair = 0; pair < lefts.length; pair++) {
    if (pair % SLICE === 0) yield
    if (a.accepts(lefts[pair]!) && b.accepts(rights[pair]!) === has) ends[pair] = 1
  }
  const listed = { first: Uint32Array.from(starts), classes: Uint16Array.from(ofMoves) }
  yield
  return { lefts, ends, moves: { ...listed, to: Uint32Array.from(targets) } }
}

/** Numbers of pairs, in the order in which they are first asked for. A `Map` of millions stands still to grow. */
class PairNumbers {
  readonly lefts: number[] = []
  readonly rights: number[] = []
  /** One more than the number; 0: free. */
  #slots = new Uint32Array(1 << 10)

  of(left: number, right: number): number {
    for (let at = this.#first(left, right); ; at = (at + 1) & (this.#slots.length - 1)) {
      const number = this.#slots[at]! - 1
      if (number < 0) return this.#added(left, right, at)
      if (this.lefts[number] === left && this.rights[number] === right) return number
    }
  }

  #added(left: number, right: number, at: number): number {
    this.rights.push(right)
    this.#slots[at] = this.lefts.push(left)
    if (2 * this.lefts.length > this.#slots.length) this.#grow()
    return this.lefts.length - 1
  }

  #grow(): void {
    const slots = new Uint32Array(2 * this.#slots.length)
    this.#slots = slots
    for (let i = 0; i < this.lefts.length; i++) {
      let at = this.#first(this.lefts[i]!, this.rights[i]!)
      while (slots[at] !== 0) at = (at + 1) & (slots.length - 1)
      slots[at] = i + 1
    }
  }

  #first(left: number, right: number): number {
    const mixed = Math.imul(left ^ Math.imul(right, 0x85ebca6b), 0x9e3779b1)
    return (mixed ^ (mixed >>> 15)) & (this.#slots.length - 1)
  }
}

/** The pairs, those of lower states first. */
function* byLeft(lefts: readonly number[], states: number): Slices<Uint32Array> {
  const starts = new Uint32Array(states + 1)
  for (const left of lefts) starts[left + 1]!++
  yield
  for (let state = 0; state < states; state++) starts[state + 1]! += starts[state]!
  yield
  const order = new Uint32Array(lefts.length)
  for (let pair = 0; pair < lefts.length; pair++) order[starts[lefts[pair]!]!++] = pair
  yield
  return order
}
