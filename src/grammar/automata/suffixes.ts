/** All stretches of texts as one automaton of few states, for what goes through all of them: other languages that meet them. */

import { MAY_BEGIN, MAY_END, type Slices } from '../../platform/index.js'
import { SparseAutomaton } from './sparse.js'
import { DEAD } from './types.js'

/** Characters, or states, from one pause to the next: some milliseconds. */
const SLICE = 8192

const ROOT = 1
const MANY = 12
/** Of what no stretch goes over. */
export const BREAK = 0

/** Of texts behind each other, a `BREAK` between them. In time and memory that grow with the texts and not faster. */
export function* suffixesOf(letters: Uint32Array, text: Uint16Array, borders: Uint8Array): Slices<SparseAutomaton> {
  const suffixes = new Suffixes(text.length)
  for (let from = 0; from < text.length; ) {
    const broken = text.indexOf(BREAK, from)
    const end = broken < 0 ? text.length : broken
    // Behind the last end no stretch goes on.
    const to = lastEnd(borders, from, end)
    suffixes.restart()
    for (; from < to; from += SLICE) {
      suffixes.extend(text, borders, from, Math.min(from + SLICE, to))
      yield
    }
    from = end + 1
  }
  return yield* suffixes.automaton(letters)
}

/** Behind the last place before `to` at which a stretch may end; `from` where there is none. */
function lastEnd(borders: Uint8Array, from: number, to: number): number {
  let end = to
  while (end > from && (borders[end - 1]! & MAY_END) === 0) end--
  return end
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

  /** The text's characters `from` to before `to`. */
  extend(classes: Uint16Array, borders: Uint8Array, from: number, to: number): void {
    const [heads, endings] = [this.#heads, this.#ends]
    let last = this.#last
    for (let i = from; i < to; i++) {
      const border = borders[i]!
      const begins = (border & MAY_BEGIN) !== 0
      // Nothing has begun.
      if (last === ROOT && !begins) continue
      const cls = classes[i]!
      // What was just added has no moves.
      const known = heads[last] === 0 ? 0 : this.#moveOf(last, cls)
      last = known === 0 ? this.#added(last, cls, begins) : this.#alone(last, cls, known, begins)
      if ((border & MAY_END) !== 0) endings[last] = 1
    }
    this.#last = last
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
    return yield* this.#frozen(letters, order)
  }

  /** The states, those of shorter texts first: the root before all others. */
  #byLength(): Uint32Array {
    const states = this.#states
    const lengths = this.#lengths
    let longest = 0
    for (let state = ROOT; state < states; state++) if (lengths[state]! > longest) longest = lengths[state]!
    const starts = new Uint32Array(longest + 2)
    for (let state = ROOT; state < states; state++) starts[lengths[state]! + 1]!++
    for (let length = 0; length <= longest; length++) starts[length + 1]! += starts[length]!
    const order = new Uint32Array(states - ROOT)
    for (let state = ROOT; state < states; state++) order[starts[lengths[state]!]!++] = state
    return order
  }

  /** An end can be reached from every state: the last one of its text, unless there is none at all. */
  *#frozen(letters: Uint32Array, order: Uint32Array): Slices<SparseAutomaton> {
    const [ownClasses, ownTo, next, heads, degrees] = [this.#classes, this.#to, this.#next, this.#heads, this.#degrees]
    const empty = order.length === 1
    const states = empty ? 1 : order.length + 1
    const numbers = new Uint32Array(this.#states)
    for (let i = 0; i < order.length; i++) numbers[order[i]!] = i + 1
    const accepting = new Uint8Array(states)
    const first = new Uint32Array(states + 1)
    const classes = new Uint16Array(this.#moves - 1)
    const to = new Uint32Array(this.#moves - 1)
    let kept = 0
    for (let number = 1; number < states; number++) {
      if (number % SLICE === 0) yield
      const state = order[number - 1]!
      accepting[number] = this.#ends[state]!
      const from = kept
      const many = degrees[state] === MANY
      for (let move = heads[state]!; move !== 0; move = next[move]!) {
        const cls = ownClasses[move]!
        // Most have one move, and nearly all of the others a few.
        let at = kept++
        if (!many) {
          for (; at > from && classes[at - 1]! > cls; at--) {
            classes[at] = classes[at - 1]!
            to[at] = to[at - 1]!
          }
        }
        classes[at] = cls
        to[at] = numbers[ownTo[move]!]!
      }
      if (many) sortMoves(classes, to, from, kept)
      first[number + 1] = kept
    }
    return new SparseAutomaton(letters, { first, classes, to }, accepting)
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
