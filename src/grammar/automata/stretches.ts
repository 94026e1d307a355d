/** The stretches of texts, cut where `platform/borders.ts` says. */

import { atOnce, MAY_BEGIN, MAY_END, type Slices } from '../../platform/index.js'
import { below } from './ascending.js'
import { classesOf, FIRST_LETTER, OfOneText, SparseAutomaton } from './sparse.js'
import { BREAK, suffixesOf } from './suffixes.js'
import { DEAD, type TextAutomaton } from './types.js'

/** Far more than anybody asks for. */
const MOST_FORKS = 2 ** 28
/** How often all the places where stretches begin may be looked at, by and by; then the whole automaton is quicker. */
const MOST_LOOKS = 64
/** The same while one way is tried, and of how many of them one may be left behind it. */
const TRIED_LOOKS = 4
const FEW_LEFT = 1 / 256

export type Sparse = SparseAutomaton | Stretches

export function isSparse(text: TextAutomaton): text is Sparse {
  return text instanceof SparseAutomaton || text instanceof Stretches
}

/** What may be walked through all its states. */
export function whole(text: Sparse): SparseAutomaton
export function whole(text: TextAutomaton): TextAutomaton
export function whole(text: TextAutomaton): TextAutomaton {
  return text instanceof Stretches ? text.whole : text
}

/** The same with a pause every few milliseconds. */
export function wholeInSlices(text: Sparse): Slices<SparseAutomaton>
export function wholeInSlices(text: TextAutomaton): Slices<TextAutomaton>
export function* wholeInSlices(text: TextAutomaton): Slices<TextAutomaton> {
  return text instanceof Stretches ? yield* text.wholeInSlices() : text
}

/**
 * What is known of a fork, where several stretches are that begin with the same characters: `FIELDS` numbers each. There may
 * be tens of thousands of them behind one mask, so that they are no objects.
 */
const FIELDS = 6
/** Where they begin is `order[from]` up to `order[to]`. */
const FROM = 0
const TO = 1
/** How many characters that is. */
const DEPTH = 2
/** The fewest characters to an end. */
const DISTANCE = 3
/** Its moves, `NOT_YET` before somebody asks. */
const FIRST_MOVE = 4
const END_MOVE = 5
const NOT_YET = 0xffffffff
/** So few places are put in order one by one. */
const FEW = 24

/**
 * Nothing is made of the texts but a list of where stretches begin. It is put in order as far as somebody walks: those that
 * go on with the same character stand side by side. Where but one place is left, that place in the text is the state. So a
 * character costs as many steps as what was read so far stands in the texts, once, and most of a text is never looked at.
 * Texts that repeat themselves for long would cost more than the automaton of all states, which then goes on.
 */
export class Stretches extends OfOneText implements TextAutomaton {
  readonly start: number
  readonly states = 2 * MOST_FORKS
  readonly empty: boolean
  readonly classes
  readonly farthest: number
  /** The most characters of a stretch. */
  readonly longest: number
  readonly #letters: Uint32Array
  /** Classes of characters, a `BREAK` behind each text. */
  readonly #text: Uint16Array
  readonly #borders: Uint8Array
  /** By place: the nearest one, itself or behind it, where a stretch may end; 0: there is none. */
  readonly #ends: Uint32Array
  readonly #order: Uint32Array
  /** States are the dead one, then the places of the text, then these, then those of the whole automaton. */
  #forks = new Uint32Array(FIELDS << 8)
  #forkCount = 0
  readonly #firstFork: number
  readonly #firstWhole: number
  #sorted: Uint32Array | undefined
  readonly #counts: Uint32Array
  readonly #nearest: Uint32Array
  readonly #few = new Uint32Array(FEW)
  /** The moves of forks: those of each side by side, by their classes. */
  #moveClasses = new Uint16Array(1 << 10)
  #moveTo = new Uint32Array(1 << 10)
  #moveCount = 0
  #whole: SparseAutomaton | undefined
  #looks = 0

  constructor(letters: Uint32Array, text: Uint16Array, borders: Uint8Array) {
    super()
    this.#letters = letters
    this.classes = classesOf(letters)
    this.#text = text
    this.#borders = borders
    const { ends, begins, longest, farthest } = bordered(text, borders)
    this.#ends = ends
    this.#order = begins
    this.longest = longest
    this.farthest = farthest
    this.#counts = new Uint32Array(FIRST_LETTER + letters.length)
    this.#nearest = new Uint32Array(FIRST_LETTER + letters.length)
    this.#firstFork = text.length + 2
    this.#firstWhole = this.#firstFork + MOST_FORKS
    this.empty = begins.length === 0
    let distance = Number.POSITIVE_INFINITY
    for (const place of begins) distance = Math.min(distance, ends[place + 1]! - place)
    this.start = this.empty ? DEAD : this.#fork(0, begins.length, 0, distance)
  }

  /** As one automaton of all its states. */
  get whole(): SparseAutomaton {
    return this.#whole ?? atOnce(this.wholeInSlices())
  }

  *wholeInSlices(): Slices<SparseAutomaton> {
    // Nothing is divided any more.
    this.#looks = Number.POSITIVE_INFINITY
    this.#whole ??= yield* suffixesOf(this.#letters, this.#text, this.#borders)
    return this.#whole
  }

  /** Whether the texts say the same over and over: the way that most places go is walked for a little. */
  repeatsItself(): boolean {
    const few = Math.max(1, this.#order.length * FEW_LEFT)
    for (let state = this.start; state >= this.#firstFork; ) {
      const fork = this.#divided(state)
      let most = DEAD
      for (let i = this.#forks[fork + FIRST_MOVE]!; i < this.#forks[fork + END_MOVE]!; i++) {
        if (this.#countOf(this.#moveTo[i]!) > this.#countOf(most)) most = this.#moveTo[i]!
      }
      if (this.#countOf(most) <= few) return false
      if (this.#looks > TRIED_LOOKS * this.#order.length) return true
      state = most
    }
    return false
  }

  #countOf(state: number): number {
    if (state < this.#firstFork) return state === DEAD ? 0 : 1
    const fork = this.#forkOf(state)
    return this.#forks[fork + TO]! - this.#forks[fork + FROM]!
  }

  accepts(state: number): boolean {
    return state !== DEAD && this.distance(state) === 0
  }

  step(state: number, cls: number): number {
    if (state === DEAD || cls < FIRST_LETTER) return DEAD
    if (state < this.#firstFork) return this.#text[state - 1] === cls && this.#ends[state] !== 0 ? state + 1 : DEAD
    if (state >= this.#firstWhole) return this.#beyond(this.whole.step(state - this.#firstWhole, cls))
    const fork = this.#divided(state)
    const at = this.#moveFrom(fork, cls)
    return at < this.#forks[fork + END_MOVE]! && this.#moveClasses[at] === cls ? this.#moveTo[at]! : DEAD
  }

  distance(state: number): number {
    if (state === DEAD) return Number.POSITIVE_INFINITY
    if (state < this.#firstFork) return this.#ends[state - 1]! - (state - 1)
    return state < this.#firstWhole
      ? this.#forks[this.#forkOf(state) + DISTANCE]!
      : this.whole.distance(state - this.#firstWhole)
  }

  alive(state: number, low: number, high: number): boolean {
    if (state === DEAD) return false
    const letters = this.#letters
    const first = FIRST_LETTER + below(letters, low)
    const fits = (cls: number) => cls >= first && letters[cls - FIRST_LETTER]! <= high
    if (state < this.#firstFork) return fits(this.#classAt(state - 1))
    if (state >= this.#firstWhole) return this.whole.alive(state - this.#firstWhole, low, high)
    const fork = this.#divided(state)
    const at = this.#moveFrom(fork, first)
    return at < this.#forks[fork + END_MOVE]! && fits(this.#moveClasses[at]!)
  }

  each(state: number, visit: (codePoint: number, next: number) => void): void {
    if (state === DEAD) return
    const letters = this.#letters
    if (state < this.#firstFork) {
      const next = this.step(state, this.#text[state - 1]!)
      if (next !== DEAD) visit(letters[this.#text[state - 1]! - FIRST_LETTER]!, next)
      return
    }
    if (state >= this.#firstWhole) {
      this.whole.each(state - this.#firstWhole, (codePoint, next) => visit(codePoint, this.#beyond(next)))
      return
    }
    const fork = this.#divided(state)
    const end = this.#forks[fork + END_MOVE]!
    for (let i = this.#forks[fork + FIRST_MOVE]!; i < end; i++) {
      visit(letters[this.#moveClasses[i]! - FIRST_LETTER]!, this.#moveTo[i]!)
    }
  }

  /** By state the cost of the cheapest way to an end, where characters of a class cost so much. */
  cheapest(costs: Uint8Array): { from: (state: number) => number; most: number } {
    const [text, ends, order] = [this.#text, this.#ends, this.#order]
    // To the nearest end: whatever is farther costs more.
    const needed = new Uint32Array(ends.length)
    let most = 0
    for (let place = text.length - 1; place >= 0; place--) {
      const end = ends[place]!
      if (end === 0 || end === place) continue
      const cost = needed[place + 1]! + costs[text[place]!]!
      needed[place] = cost
      if (cost > most) most = cost
    }
    /** One more than it is; 0: not known. */
    let ofForks = new Uint32Array(this.#forkCount)
    const ofFork = (state: number): number => {
      const fork = this.#forkOf(state)
      const [to, depth] = [this.#forks[fork + TO]!, this.#forks[fork + DEPTH]!]
      let least = Number.POSITIVE_INFINITY
      for (let i = this.#forks[fork + FROM]!; i < to; i++) {
        const place = order[i]! + depth
        // What has not begun cannot end.
        const cost = depth === 0 ? costs[text[place]!]! + needed[place + 1]! : needed[place]!
        if (cost < least) least = cost
      }
      ofForks[state - this.#firstFork] = least + 1
      return least
    }
    let beyond: Float64Array | undefined
    const from = (state: number): number => {
      if (state === DEAD) return Number.POSITIVE_INFINITY
      if (state >= this.#firstWhole) {
        beyond ??= this.whole.cheapest(costs)
        return beyond[state - this.#firstWhole]!
      }
      if (state < this.#firstFork) return needed[state - 1]!
      const fork = state - this.#firstFork
      if (fork >= ofForks.length) {
        const longer = new Uint32Array(Math.max(2 * ofForks.length, this.#forkCount))
        longer.set(ofForks)
        ofForks = longer
      }
      return ofForks[fork] === 0 ? ofFork(state) : ofForks[fork]! - 1
    }
    return { from, most: this.empty ? 0 : Math.max(most, from(this.start)) }
  }

  #fork(from: number, to: number, depth: number, distance: number): number {
    const at = FIELDS * this.#forkCount
    if (at === this.#forks.length) this.#forks = doubled(this.#forks, Uint32Array)
    const forks = this.#forks
    forks[at + FROM] = from
    forks[at + TO] = to
    forks[at + DEPTH] = depth
    forks[at + DISTANCE] = distance
    forks[at + FIRST_MOVE] = NOT_YET
    return this.#firstFork + this.#forkCount++
  }

  #forkOf(state: number): number {
    return FIELDS * (state - this.#firstFork)
  }

  #move(cls: number, to: number): void {
    if (this.#moveCount === this.#moveTo.length) {
      this.#moveTo = doubled(this.#moveTo, Uint32Array)
      this.#moveClasses = doubled(this.#moveClasses, Uint16Array)
    }
    this.#moveClasses[this.#moveCount] = cls
    this.#moveTo[this.#moveCount++] = to
  }

  /** The first move of a fork by this class or a higher one. */
  #moveFrom(fork: number, cls: number): number {
    return below(this.#moveClasses, cls, this.#forks[fork + FIRST_MOVE]!, this.#forks[fork + END_MOVE]!)
  }

  /** Of a state of the whole automaton. */
  #beyond(state: number): number {
    return state === DEAD ? DEAD : this.#firstWhole + state
  }

  /** The fork of a state, with its moves. */
  #divided(state: number): number {
    const fork = this.#forkOf(state)
    if (this.#forks[fork + FIRST_MOVE] !== NOT_YET) return fork
    const [from, to, depth] = [this.#forks[fork + FROM]!, this.#forks[fork + TO]!, this.#forks[fork + DEPTH]!]
    const first = this.#moveCount
    this.#looks += to - from
    if (this.#looks > MOST_LOOKS * this.#order.length) this.#goBeyond(this.#order[from]!, depth)
    else if (to - from <= FEW) this.#divideFew(from, to, depth)
    else this.#divide(from, to, depth)
    this.#forks[fork + FIRST_MOVE] = first
    this.#forks[fork + END_MOVE] = this.#moveCount
    return fork
  }

  /** Goes on in the whole automaton. */
  #goBeyond(begin: number, depth: number): void {
    const { whole } = this
    let state = whole.start
    for (let place = begin; place < begin + depth; place++) state = whole.step(state, this.#text[place]!)
    const { first, classes, to } = whole.moves
    for (let i = first[state]!; i < first[state + 1]!; i++) this.#move(classes[i]!, this.#beyond(to[i]!))
  }

  /** Puts places in order by the character that follows. */
  #divideFew(from: number, to: number, depth: number): void {
    const [order, few] = [this.#order, this.#few]
    for (let i = from; i < to; i++) {
      const begin = order[i]!
      const cls = this.#classAt(begin + depth)
      let at = i - from
      for (; at > 0 && few[at - 1]! > cls; at--) {
        few[at] = few[at - 1]!
        order[from + at] = order[from + at - 1]!
      }
      few[at] = cls
      order[from + at] = begin
    }
    const count = to - from
    for (let i = 0; i < count; ) {
      const cls = few[i]!
      const begin = i
      let distance = NOT_YET
      for (; i < count && few[i] === cls; i++) {
        const next = order[from + i]! + depth + 1
        distance = Math.min(distance, this.#ends[next]! - next)
      }
      if (cls !== BREAK) this.#branch(cls, from + begin, from + i, depth + 1, distance)
    }
  }

  #divide(from: number, to: number, depth: number): void {
    const [ends, order, counts, nearest] = [this.#ends, this.#order, this.#counts, this.#nearest]
    const found: number[] = []
    for (let i = from; i < to; i++) {
      const place = order[i]! + depth
      const cls = this.#classAt(place)
      const distance = ends[place + 1]! - place - 1
      if (counts[cls]!++ === 0) {
        found.push(cls)
        nearest[cls] = distance
      } else if (distance < nearest[cls]!) nearest[cls] = distance
    }
    found.sort((a, b) => a - b)
    this.#sorted ??= new Uint32Array(order.length)
    const sorted = this.#sorted
    let sum = 0
    // From here on it is where the next one of each comes.
    for (const cls of found) {
      const count = counts[cls]!
      counts[cls] = sum
      sum += count
    }
    if (found.length > 1) {
      for (let i = from; i < to; i++) sorted[counts[this.#classAt(order[i]! + depth)]!++] = order[i]!
      order.set(sorted.subarray(0, to - from), from)
    } else counts[found[0]!] = sum
    let begin = from
    for (const cls of found) {
      const end = from + counts[cls]!
      if (cls !== BREAK) this.#branch(cls, begin, end, depth + 1, nearest[cls]!)
      begin = end
      counts[cls] = 0
    }
  }

  #branch(cls: number, from: number, to: number, depth: number, distance: number): void {
    this.#move(cls, to === from + 1 ? this.#order[from]! + depth + 1 : this.#fork(from, to, depth, distance))
  }

  /** The class of the character behind a place; `BREAK` where no stretch goes over it. */
  #classAt(place: number): number {
    const cls = this.#text[place]!
    return cls !== BREAK && this.#ends[place + 1] === 0 ? BREAK : cls
  }
}

/** Where stretches begin, and the nearest end from each place. */
function bordered(text: Uint16Array, borders: Uint8Array) {
  const ends = new Uint32Array(text.length + 2)
  const begins = new Uint32Array(text.length)
  let count = 0
  let longest = 0
  let farthest = 0
  /** Up to here ends are known. */
  let known = 0
  /** How many began before this run of text. */
  let before = 0
  let last = 0
  const finish = () => {
    // Behind the last end nothing begins.
    while (count > before && begins[count - 1]! >= last) count--
    if (count > before) longest = Math.max(longest, last - begins[before]!)
    before = count
  }
  for (let i = 0; i < text.length; i++) {
    if (text[i] === BREAK) {
      finish()
      known = i + 1
      last = known
      continue
    }
    const border = borders[i]!
    if ((border & MAY_BEGIN) !== 0) begins[count++] = i
    if ((border & MAY_END) === 0) continue
    const end = i + 1
    ends.fill(end, known, end + 1)
    known = end + 1
    if (count > before) farthest = Math.max(farthest, end - Math.max(last, begins[before]!))
    last = end
  }
  finish()
  return { ends, begins: begins.slice(0, count), longest, farthest }
}

function doubled<T extends Uint16Array | Uint32Array>(list: T, List: new (length: number) => T): T {
  const longer = new List(2 * list.length)
  longer.set(list)
  return longer
}
