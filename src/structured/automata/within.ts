/** Those texts of a sparse automaton that another language has, or has not: sparse as it was. */

import type { Fuel } from '../fuel.js'
import { FIRST_LETTER, SparseAutomaton } from './sparse.js'
import { DEAD, type TextAutomaton, TextError } from './types.js'

/** Pairs of states, each some bytes. */
const MOST_PAIRS = 4_000_000
/** Pairs for one step of fuel: it takes a fraction of the time of others. */
const PAIRS_PER_STEP = 32

/** `has`: whether the other language has them. */
export function within(a: SparseAutomaton, b: TextAutomaton, has: boolean, fuel: Fuel): SparseAutomaton {
  const found = pairsOf(a, b, has, fuel)
  const { first, to } = found.moves
  const lives = new Uint8Array(found.count)
  // Whatever a pair leads to stands behind it in the order.
  for (let i = found.order.length - 1; i >= 0; i--) {
    const pair = found.order[i]!
    lives[pair] = found.ends[pair]!
    for (let move = first[pair]!; move < first[pair + 1]! && lives[pair] === 0; move++) lives[pair] = lives[to[move]!]!
  }
  const numbers = new Uint32Array(found.count)
  let states = 1
  for (const pair of found.order) if (lives[pair] === 1) numbers[pair] = states++
  const accepting = new Uint8Array(states)
  const firstOf = new Uint32Array(states + 1)
  const classes: number[] = []
  const targets: number[] = []
  for (const pair of found.order) {
    const number = numbers[pair]!
    if (number === DEAD) continue
    accepting[number] = found.ends[pair]!
    for (let move = first[pair]!; move < first[pair + 1]!; move++) {
      if (numbers[to[move]!] === DEAD) continue
      classes.push(found.moves.classes[move]!)
      targets.push(numbers[to[move]!]!)
    }
    firstOf[number + 1] = targets.length
  }
  const moves = { first: firstOf, classes: Uint16Array.from(classes), to: Uint32Array.from(targets) }
  return new SparseAutomaton(a.letters, moves, accepting, a.classes)
}

/** The pairs of states that texts lead to, by number. */
function pairsOf(a: SparseAutomaton, b: TextAutomaton, has: boolean, fuel: Fuel) {
  const { first, classes, to } = a.moves
  const classOf = Uint16Array.from(a.letters, (letter) => b.classes.of(letter))
  const known = new Map<number, number>()
  const lefts: number[] = []
  const rights: number[] = []
  const idOf = (left: number, right: number): number => {
    const key = left * b.states + right
    let id = known.get(key)
    if (id === undefined) {
      id = lefts.push(left) - 1
      rights.push(right)
      known.set(key, id)
    }
    return id
  }
  if (!a.empty && !(has && b.empty)) idOf(a.start, b.start)
  const starts = [0]
  const ofMoves: number[] = []
  const targets: number[] = []
  for (let pair = 0; pair < lefts.length; pair++) {
    if (pair > MOST_PAIRS)
      throw new TextError('the texts to quote from are too long for what else is asked of the string')
    if (pair % PAIRS_PER_STEP === 0) fuel.spend(1)
    const left = lefts[pair]!
    const right = rights[pair]!
    for (let i = first[left]!; i < first[left + 1]!; i++) {
      const next = right === DEAD ? DEAD : b.step(right, classOf[classes[i]! - FIRST_LETTER]!)
      if (next === DEAD && has) continue
      ofMoves.push(classes[i]!)
      targets.push(idOf(to[i]!, next))
    }
    starts.push(targets.length)
  }
  const ends = Uint8Array.from(lefts, (left, i) => (a.accepts(left) && b.accepts(rights[i]!) === has ? 1 : 0))
  const order = Uint32Array.from(lefts, (_, i) => i).sort((x, y) => lefts[x]! - lefts[y]!)
  return { count: lefts.length, ends, order, moves: { first: starts, classes: ofMoves, to: targets } }
}
