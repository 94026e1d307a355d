/** The stretches of texts, cut where `platform/borders.ts` says: a suffix automaton of what begins there. */

import { BEGINS, bordersOf, ENDS } from '../../platform/borders.js'
import type { Slices } from '../../platform/slices.js'
import { FIRST_LETTER, MOST_LETTERS, SparseAutomaton } from './sparse.js'
import { DEAD, TextError } from './types.js'

/** In UTF-16 code units, all texts together. */
export const MOST_TEXT = 2 ** 20
/** Characters from one pause to the next: some milliseconds. */
const SLICE = 8192

const ROOT = 1
const MANY = 12
/** Of a character that no JSON in UTF-8 can hold: no stretch goes over it. */
const BREAK = 0

/**
 * All stretches of these texts; a stretch lies in one of them. Made in time and memory that grow with the texts and not
 * faster, with a pause every few milliseconds. Throws `TextError` for texts that are too long.
 */
export function* stretchesOf(texts: readonly string[]): Slices<SparseAutomaton> {
  const length = texts.reduce((sum, text) => sum + text.length, 0)
  if (length > MOST_TEXT) throw new TextError(`the texts to quote from have more than ${MOST_TEXT} characters`)
  const all = texts.map(codePointsOf)
  const letters = new Letters(all)
  yield
  const suffixes = new Suffixes(length)
  let read = 0
  for (const text of all) {
    const borders = bordersOf(text)
    suffixes.restart()
    for (let i = 0; i < text.length; i++) {
      const cls = letters.classOf(text[i]!)
      if (cls === BREAK) suffixes.restart()
      else suffixes.extend(cls, (borders[i]! & BEGINS) !== 0, (borders[i]! & ENDS) !== 0)
      if (++read % SLICE === 0) yield
    }
  }
  return yield* suffixes.automaton(letters.list)
}

function codePointsOf(text: string): Int32Array {
  const found = new Int32Array(text.length)
  let count = 0
  for (let i = 0; i < text.length; i++) {
    const codePoint = text.codePointAt(i)!
    found[count++] = codePoint
    if (codePoint > 0xffff) i++
  }
  return found.subarray(0, count)
}

/** What texts are written in. */
class Letters {
  readonly list: Uint32Array
  readonly #basic = new Uint16Array(0x10000)
  readonly #others = new Map<number, number>()

  constructor(texts: readonly Int32Array[]) {
    for (const text of texts) for (const codePoint of text) this.#set(codePoint, FIRST_LETTER)
    const found = [...this.#others.keys()]
    this.#basic.forEach((cls, codePoint) => {
      if (cls !== 0 && (codePoint & ~0x7ff) !== 0xd800) found.push(codePoint)
    })
    this.list = Uint32Array.from(found).sort()
    if (found.length > MOST_LETTERS)
      throw new TextError(`the texts to quote from have more than ${MOST_LETTERS} different characters`)
    this.#basic.fill(BREAK)
    this.list.forEach((letter, i) => {
      this.#set(letter, FIRST_LETTER + i)
    })
  }

  #set(codePoint: number, cls: number): void {
    if (codePoint < 0x10000) this.#basic[codePoint] = cls
    else this.#others.set(codePoint, cls)
  }

  classOf(codePoint: number): number {
    return codePoint < 0x10000 ? this.#basic[codePoint]! : this.#others.get(codePoint)!
  }
}

/**
 * Blumer's construction, of those suffixes alone that begin where a stretch may: from the root nothing is read elsewhere.
 * It needs that the ends of a text's places are among those of its own suffixes' places, and they are: whether one of these
 * may begin hangs on characters that the text itself holds.
 */
class Suffixes {
  readonly #lengths: Uint32Array
  readonly #links: Uint32Array
  readonly #ends: Uint8Array
  /** The moves of each state, as lists. */
  readonly #heads: Uint32Array
  #classes: Uint16Array
  #from: Uint32Array
  #to: Uint32Array
  #next: Uint32Array
  #moves = 1
  /** How many moves a state has, up to `MANY`: those of states with so many are found by their hash. */
  readonly #degrees: Uint8Array
  #slots = new Uint32Array(1 << 10)
  #hashed = 0
  #states = 2
  #last = ROOT

  constructor(characters: number) {
    const most = 2 * characters + 3
    this.#lengths = new Uint32Array(most)
    this.#links = new Uint32Array(most)
    this.#heads = new Uint32Array(most)
    this.#ends = new Uint8Array(most)
    const moves = 2 * characters + 16
    this.#degrees = new Uint8Array(most)
    this.#classes = new Uint16Array(moves)
    this.#from = new Uint32Array(moves)
    this.#to = new Uint32Array(moves)
    this.#next = new Uint32Array(moves)
  }

  /** What comes next does not go on from what came before. */
  restart(): void {
    this.#last = ROOT
  }

  extend(cls: number, begins: boolean, ends: boolean): void {
    const last = this.#last
    // Nothing has begun.
    if (last === ROOT && !begins) return
    const known = this.#moveOf(last, cls)
    if (known !== 0) this.#last = this.#alone(last, cls, known, begins)
    else this.#last = this.#added(last, cls, begins)
    if (ends) this.#ends[this.#last] = 1
  }

  #added(last: number, cls: number, begins: boolean): number {
    const added = this.#states++
    this.#lengths[added] = this.#lengths[last]! + 1
    let at = last
    for (; at !== DEAD && (at !== ROOT || begins); at = this.#links[at]!) {
      const move = this.#moveOf(at, cls)
      if (move !== 0) {
        this.#links[added] = this.#alone(at, cls, move, begins)
        return added
      }
      this.#add(at, cls, added)
    }
    this.#links[added] = ROOT
    return added
  }

  /** Where a move leads, once longer texts that led there with it are told apart. */
  #alone(from: number, cls: number, move: number, begins: boolean): number {
    const to = this.#to[move]!
    const length = this.#lengths[from]! + 1
    if (this.#lengths[to] === length) return to
    const split = this.#states++
    this.#lengths[split] = length
    this.#links[split] = this.#links[to]!
    this.#links[to] = split
    for (let i = this.#heads[to]!; i !== 0; i = this.#next[i]!) this.#add(split, this.#classes[i]!, this.#to[i]!)
    for (let at = from; at !== DEAD && (at !== ROOT || begins); at = this.#links[at]!) {
      const other = this.#moveOf(at, cls)
      if (this.#to[other] !== to) break
      this.#to[other] = split
    }
    return split
  }

  #moveOf(state: number, cls: number): number {
    const classes = this.#classes
    if (this.#degrees[state] === MANY) {
      const slots = this.#slots
      const last = slots.length - 1
      for (let at = hash(state, cls) & last; ; at = (at + 1) & last) {
        const move = slots[at]!
        if (move === 0 || (classes[move] === cls && this.#from[move] === state)) return move
      }
    }
    const next = this.#next
    let at = this.#heads[state]!
    while (at !== 0 && classes[at] !== cls) at = next[at]!
    return at
  }

  #add(state: number, cls: number, to: number): void {
    const move = this.#moves++
    if (move === this.#to.length) this.#grow()
    this.#classes[move] = cls
    this.#from[move] = state
    this.#to[move] = to
    this.#next[move] = this.#heads[state]!
    this.#heads[state] = move
    if (this.#degrees[state] === MANY) this.#hash(move)
    else if (++this.#degrees[state]! === MANY) for (let i = move; i !== 0; i = this.#next[i]!) this.#hash(i)
  }

  #hash(move: number): void {
    if (2 * ++this.#hashed > this.#slots.length) {
      const before = this.#slots
      this.#slots = new Uint32Array(2 * before.length)
      for (const each of before) if (each !== 0) this.#put(each)
    }
    this.#put(move)
  }

  #put(move: number): void {
    const last = this.#slots.length - 1
    let at = hash(this.#from[move]!, this.#classes[move]!) & last
    while (this.#slots[at] !== 0) at = (at + 1) & last
    this.#slots[at] = move
  }

  #grow(): void {
    const length = 2 * this.#to.length
    const [classes, from] = [new Uint16Array(length), new Uint32Array(length)]
    const [to, next] = [new Uint32Array(length), new Uint32Array(length)]
    classes.set(this.#classes)
    from.set(this.#from)
    to.set(this.#to)
    next.set(this.#next)
    this.#classes = classes
    this.#from = from
    this.#to = to
    this.#next = next
  }

  *automaton(letters: Uint32Array): Slices<SparseAutomaton> {
    yield
    const order = this.#byLength()
    yield
    // Whatever ends where a longer text does ends there too.
    for (let i = order.length - 1; i > 0; i--) {
      const state = order[i]!
      if (this.#ends[state] !== 0) this.#ends[this.#links[state]!] = 1
    }
    this.#ends[ROOT] = 0
    yield
    const numbers = this.#numbers(order)
    const states = numbers[DEAD]!
    numbers[DEAD] = DEAD
    yield
    return this.#frozen(letters, order, numbers, states)
  }

  /** The states, those of shorter texts first: the root before all others. */
  #byLength(): Uint32Array {
    const states = this.#states
    const longest = this.#lengths.subarray(0, states).reduce((most, length) => Math.max(most, length), 0)
    const starts = new Uint32Array(longest + 2)
    for (let state = ROOT; state < states; state++) starts[this.#lengths[state]! + 1]!++
    for (let length = 0; length <= longest; length++) starts[length + 1]! += starts[length]!
    const order = new Uint32Array(states - ROOT)
    for (let state = ROOT; state < states; state++) order[starts[this.#lengths[state]!]!++] = state
    return order
  }

  /** New numbers for the states from which an end can be reached; how many there are, the dead one included, at 0. */
  #numbers(order: Uint32Array): Uint32Array {
    const numbers = new Uint32Array(this.#states)
    for (let i = order.length - 1; i >= 0; i--) {
      const state = order[i]!
      let lives = this.#ends[state] !== 0
      for (let move = this.#heads[state]!; move !== 0 && !lives; move = this.#next[move]!) {
        lives = numbers[this.#to[move]!] !== 0
      }
      if (lives) numbers[state] = 1
    }
    let count = 1
    for (const state of order) if (numbers[state] !== 0) numbers[state] = count++
    numbers[DEAD] = count
    return numbers
  }

  #frozen(letters: Uint32Array, order: Uint32Array, numbers: Uint32Array, states: number): SparseAutomaton {
    const [ownClasses, ownTo, next] = [this.#classes, this.#to, this.#next]
    const accepting = new Uint8Array(states)
    const first = new Uint32Array(states + 1)
    const classes = new Uint16Array(this.#moves)
    const to = new Uint32Array(this.#moves)
    let kept = 0
    for (const state of order) {
      const number = numbers[state]!
      if (number === DEAD) continue
      accepting[number] = this.#ends[state]!
      const from = kept
      for (let move = this.#heads[state]!; move !== 0; move = next[move]!) {
        const target = numbers[ownTo[move]!]!
        if (target === DEAD) continue
        const cls = ownClasses[move]!
        // Most have one move, and nearly all of the others a few.
        let at = kept++
        if (this.#degrees[state]! < MANY) {
          for (; at > from && classes[at - 1]! > cls; at--) {
            classes[at] = classes[at - 1]!
            to[at] = to[at - 1]!
          }
        }
        classes[at] = cls
        to[at] = target
      }
      if (this.#degrees[state] === MANY) sortMoves(classes, to, from, kept)
      first[number + 1] = kept
    }
    const moves = { first, classes: classes.slice(0, kept), to: to.slice(0, kept) }
    return new SparseAutomaton(letters, moves, accepting)
  }
}

function sortMoves(classes: Uint16Array, to: Uint32Array, from: number, end: number): void {
  const sorted = Float64Array.from(
    { length: end - from },
    (_, i) => classes[from + i]! * 2 ** 32 + to[from + i]!,
  ).sort()
  sorted.forEach((move, i) => {
    classes[from + i] = move / 2 ** 32
    to[from + i] = move % 2 ** 32
  })
}

function hash(state: number, cls: number): number {
  const mixed = Math.imul(state ^ Math.imul(cls, 0x85ebca6b), 0x9e3779b1)
  return mixed ^ (mixed >>> 15)
}
