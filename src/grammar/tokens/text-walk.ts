import { getOrMake } from '../../platform/index.js'
import type { TextAutomaton } from '../automata/types.js'
import type { Bytes } from '../automaton/frame.js'
import type { TextFrame } from '../automaton/text.js'
import { ENTRY_BYTES, Kept } from '../kept.js'
import { SPELLED } from './costs.js'
import type { Found } from './found.js'
import type { Letters } from './letters.js'

/** Where a character leads that was not tried, and where one that may not come does. */
const UNTRIED = -1
export const NOWHERE = 0
/** Entries of the table of a text that are kept, and those after which a walk is given up. */
const [KEPT, MOST] = [2 ** 18, 2 ** 20]
/** No more states have numbers. */
const STATES = 2 ** 16
/** Places of which it is kept where their tokens lead, of 300 KB each for a vocabulary of 152,000. */
const PLACES = 12

/** Where each token leads. */
export interface LeadingTo {
  /** By their numbers here, `NOWHERE` for those to which none leads: the first is that of tokens that lead nowhere. */
  readonly states: readonly number[]
  /** For each the first of those that have the same text left: what is asked of how far the end is, is asked of that one. */
  readonly alike: Uint16Array
  /** For each token of the letters which of these. */
  readonly to: Uint16Array
}

/**
 * Walks all tokens that end between two characters along a text: a look into a table for each node, in the order in which
 * they lie in memory. It takes the same for every place, a millisecond for 150,000 tokens, and so is for those in which
 * little may be taken or left out as a whole.
 */
export class TextWalk {
  /** How many there were. */
  walks = 0
  readonly #letters: Letters
  readonly #found: Found
  /** By node. */
  readonly #reached: Uint16Array
  #text: TextAutomaton | undefined
  /** By the number of a state here and the class of a character. */
  #next = new Int32Array(0)
  #states: number[] = []
  #numbers = new Map<number, number>()
  readonly #leading = new WeakMap<TextAutomaton, Kept<number, LeadingTo>>()

  constructor(letters: Letters, found: Found) {
    this.#letters = letters
    this.#found = found
    this.#reached = new Uint16Array(letters.parents.length)
  }

  get bytes(): number {
    return this.#reached.byteLength + this.#letters.bytes + this.#next.byteLength
  }

  /** Where they lead, if that is known. */
  known({ home, state }: TextFrame): LeadingTo | undefined {
    return this.#leading.get(home.text)?.get(state)
  }

  /** Undefined: to too many states. */
  from(frame: TextFrame): LeadingTo | undefined {
    const leading = this.known(frame) ?? this.#leadingFrom(frame)
    if (leading) {
      const known = getOrMake(
        this.#leading,
        frame.home.text,
        () => new Kept(PLACES, ({ states, to }) => ENTRY_BYTES + to.byteLength + 10 * states.length),
      )
      known.set(frame.state, leading)
    }
    return leading
  }

  #leadingFrom(frame: TextFrame): LeadingTo | undefined {
    if (!this.#reach(frame)) return undefined
    const { nodes } = this.#letters
    const to = new Uint16Array(nodes.length)
    const met = new Uint8Array(this.#states.length)
    gather(to, met, this.#reached, nodes)
    const states = this.#states.map((state, number) => (met[number] ? state : NOWHERE))
    const ends = new Map<Bytes | number, number>()
    const alike = Uint16Array.from(states, (state, number) => {
      return state === NOWHERE ? NOWHERE : getOrMake(ends, endOf(frame, state), () => number)
    })
    return { states, alike, to }
  }

  /** Finds all that lead anywhere; false: to too many states. */
  all(frame: TextFrame): boolean {
    if (!this.#reach(frame)) return false
    const { nodes, tokens } = this.#letters
    const found = new Uint32Array(tokens.length)
    this.#found.add(found, 0, pick(found, tokens, this.#reached, nodes))
    return true
  }

  /** Sets the bits of those that lead to states of which `admitted` says so, by their numbers. */
  add(into: Uint32Array, { to }: LeadingTo, admitted: Uint8Array): void {
    mark(into, this.#letters.tokens, to, admitted)
  }

  #reach({ home: { text }, state }: TextFrame): boolean {
    if (this.#text !== text || this.#next.length > KEPT) this.#begin(text)
    const { labels, parents } = this.#letters
    const columns = this.#letters.columns(text.classes)
    const reached = this.#reached
    const width = text.classes.count
    reached[0] = this.#numberOf(state)
    this.walks++
    for (let node = 1; ; ) {
      node = follow({ reached, parents, labels, columns, width, next: this.#next }, node)
      if (node === reached.length) return true
      const from = reached[parents[node]!]!
      const cls = columns[labels[node]!]!
      const to = this.#numberOf(text.step(this.#states[from]!, cls))
      this.#next[from * width + cls] = to
      if (this.#next.length <= MOST && this.#states.length <= STATES) continue
      this.#text = undefined
      return false
    }
  }

  #begin(text: TextAutomaton): void {
    this.#text = text
    this.#next = new Int32Array(16 * text.classes.count).fill(UNTRIED)
    this.#states = [NOWHERE]
    this.#numbers = new Map([[NOWHERE, NOWHERE]])
  }

  #numberOf(state: number): number {
    const known = this.#numbers.get(state)
    if (known !== undefined) return known
    const number = this.#states.push(state) - 1
    this.#numbers.set(state, number)
    if (this.#states.length * this.#text!.classes.count > this.#next.length) {
      const next = new Int32Array(2 * this.#next.length).fill(UNTRIED)
      next.set(this.#next)
      this.#next = next
    }
    return number
  }
}

/** The text that is left; where it takes more tokens than are counted, only its length matters. */
function endOf({ home }: TextFrame, state: number): Bytes | number {
  const length = home.length(state)
  return length > SPELLED ? length : home.spell(state)
}

/** What a walk reads and writes. */
interface Table {
  readonly reached: Uint16Array
  readonly parents: Int32Array
  readonly labels: Uint16Array
  readonly columns: Uint16Array
  readonly width: number
  readonly next: Int32Array
}

// The loops stand alone: what is compiled in the midst of one is thrown away where more than its end follows it.

/** From a node on to one whose place was not tried, or to the end. */
function follow({ reached, parents, labels, columns, width, next }: Table, from: number): number {
  for (let node = from; node < reached.length; node++) {
    const above = reached[parents[node]!]!
    const to = above === NOWHERE ? NOWHERE : next[above * width + columns[labels[node]!]!]!
    if (to === UNTRIED) return node
    reached[node] = to
  }
  return reached.length
}

function gather(to: Uint16Array, met: Uint8Array, reached: Uint16Array, nodes: Int32Array): void {
  for (let i = 0; i < to.length; i++) {
    const number = reached[nodes[i]!]!
    to[i] = number
    met[number] = 1
  }
}

function pick(found: Uint32Array, tokens: Int32Array, reached: Uint16Array, nodes: Int32Array): number {
  let count = 0
  for (let i = 0; i < nodes.length; i++) if (reached[nodes[i]!] !== NOWHERE) found[count++] = tokens[i]!
  return count
}

function mark(into: Uint32Array, tokens: Int32Array, to: Uint16Array, admitted: Uint8Array): void {
  for (let i = 0; i < to.length; i++) {
    const token = tokens[i]!
    into[token >> 5]! |= admitted[to[i]!]! << (token & 31)
  }
}
