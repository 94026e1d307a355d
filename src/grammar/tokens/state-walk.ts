import type { Slices } from '../../platform/index.js'
import { KIND } from '../automata/kinds.js'
import type { Passing } from '../automaton/content.js'
import { type Cell, FREE_TEXT, type Frame } from '../automaton/frame.js'
import type { Machine, State } from '../automaton/machine.js'
import type { TokenCosts } from './costs.js'
import type { Found } from './found.js'
import { heightLimit, type Trie } from './trie.js'

/** The most bytes that a character cut off still lacks. */
const MOST_CUT = 3

/** A thread in free text outside of strings, where characters of some kinds change nothing. */
function loopOf({ cells }: State): Cell | undefined {
  return cells.find(({ frame }) => frame !== undefined && (frame.traits & FREE_TEXT) !== 0)
}

/**
 * Walks a trie and the automaton together. Tokens are come to in the order of the trie's list, so a walk that pauses is
 * gone on with from a place of that list, whatever of the automaton has been forgotten meanwhile.
 */
export class StateWalk {
  readonly #machine: Machine
  readonly #costs: TokenCosts
  readonly #found: Found
  #budget = Infinity
  /** Tokens before this place of the list have been walked. */
  #from = 0
  /** Those from this one on are for later. */
  #to = 0

  constructor(machine: Machine, costs: TokenCosts, found: Found) {
    this.#machine = machine
    this.#costs = costs
    this.#found = found
  }

  /** Finds the tokens that may follow a state, if after them `budget` tokens still suffice. */
  start(trie: Trie, state: State, budget: number): Slices<void> {
    return this.#inSlices(trie, 0, trie.tokens.length, budget, () => {
      this.#visit(trie, 0, trie.tokens.length, state)
    })
  }

  /** The same below a node that has led to this state; `to` is where its tokens end. */
  enter(trie: Trie, node: number, to: number, state: State, budget: number): Slices<void> {
    return this.#inSlices(trie, node, to, budget, () => this.#arrive(trie, node, to, state))
  }

  *#inSlices(trie: Trie, node: number, to: number, budget: number, walk: () => void): Slices<void> {
    for (let next = trie.from[node]!; ; ) {
      this.#budget = budget
      this.#from = next
      this.#to = to
      walk()
      next = this.#to
      if (next === to) return
      const goOn = this.#found.leave()
      yield
      goOn()
    }
  }

  #visit(trie: Trie, node: number, to: number, state: State): void {
    const { first, bytes, from } = trie
    const start = first[node]!
    const last = first[node + 1]!
    const loop = last - start > 8 ? loopOf(state) : undefined
    if (loop !== undefined && this.#covers(loop)) {
      this.#visitLoop(trie, node, to, state, loop)
      return
    }
    const next = last - start > 8 ? state.next : null
    if (next !== null && next.length * 4 < last - start) {
      for (const byte of next) {
        const child = trie.child(node, byte)
        if (child !== 0) this.#step(trie, child, child + 1 < last ? from[child + 1]! : to, state, byte)
      }
    } else {
      for (let child = start; child < last; child++) {
        this.#step(trie, child, child + 1 < last ? from[child + 1]! : to, state, bytes[child]!)
      }
    }
  }

  /** Whether whatever leads back to this place leaves enough of the budget, also where it ends inside a character. */
  #covers(loop: Cell): boolean {
    return loop.length + MOST_CUT <= this.#budget || this.#costs.ofCell(loop) + MOST_CUT <= this.#budget
  }

  /** Where all characters of some kinds lead back, what holds no others is taken without a look. */
  #visitLoop(trie: Trie, node: number, to: number, state: State, loop: Cell): void {
    const { first, bytes, from, kinds, heights, tokens } = trie
    const { leaving, room: most } = loop.frame as Frame & Passing
    const room = heightLimit(most)
    const last = first[node + 1]!
    for (let child = first[node]!; child < last; child++) {
      const end = child + 1 < last ? from[child + 1]! : to
      const all = KIND[bytes[child]!]! | kinds[child]!
      if ((all & leaving) !== 0 || heights[child]! > room) this.#step(trie, child, end, state, bytes[child]!)
      else if (this.#isDue(from[child]!)) {
        this.#found.add(tokens, from[child]!, end)
        this.#found.longest = Math.max(this.#found.longest, loop.length + MOST_CUT)
      }
    }
  }

  #step(trie: Trie, child: number, to: number, state: State, byte: number): void {
    if (to <= this.#from || trie.from[child]! >= this.#to) return
    const next = this.#machine.step(state, byte)
    if (next !== this.#machine.dead) this.#arrive(trie, child, to, next)
    if (this.#machine.work.tires() && to < this.#to) this.#to = to
  }

  /** Whether the token at this place of the list is for this slice. */
  #isDue(place: number): boolean {
    return place >= this.#from && place < this.#to
  }

  #arrive(trie: Trie, node: number, to: number, state: State): void {
    const { first, from, tokens } = trie
    const own = from[node]!
    if (state.uncertain) {
      if (this.#isDue(own)) this.#found.doubt(tokens, own, to)
      return
    }
    const below = first[node] === first[node + 1] ? to : from[first[node]!]!
    if (own < below && this.#isDue(own)) {
      if (this.#affordable(state)) {
        this.#found.add(tokens, own, below)
        if (state.length > this.#found.longest) this.#found.longest = state.length
      } else if (state.guessed) this.#found.doubt(tokens, own, below)
    }
    if (below < to) this.#visit(trie, node, to, state)
  }

  #affordable(state: State): boolean {
    return state.length <= this.#budget || this.#costs.of(state) <= this.#budget
  }
}
