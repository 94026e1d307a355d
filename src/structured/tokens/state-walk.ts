import type { Machine, State } from '../automaton/machine.js'
import type { TokenCosts } from './costs.js'
import type { Found } from './found.js'
import type { Trie } from './trie.js'

/** Walks a trie and the automaton together. */
export class StateWalk {
  readonly #machine: Machine
  readonly #costs: TokenCosts
  readonly #found: Found
  #budget = Infinity

  constructor(machine: Machine, costs: TokenCosts, found: Found) {
    this.#machine = machine
    this.#costs = costs
    this.#found = found
  }

  /** Finds the tokens that may follow a state, if after them `budget` tokens still suffice. */
  start(trie: Trie, state: State, budget: number): void {
    this.#budget = budget
    this.#visit(trie, 0, trie.tokens.length, state)
  }

  /** The same below a node that has led to this state; `to` is where its tokens end. */
  enter(trie: Trie, node: number, to: number, state: State, budget: number): void {
    this.#budget = budget
    this.#arrive(trie, node, to, state)
  }

  #visit(trie: Trie, node: number, to: number, state: State): void {
    const { first, bytes, from } = trie
    const start = first[node]!
    const last = first[node + 1]!
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

  #step(trie: Trie, child: number, to: number, state: State, byte: number): void {
    const next = this.#machine.step(state, byte)
    if (next !== this.#machine.dead) this.#arrive(trie, child, to, next)
  }

  #arrive(trie: Trie, node: number, to: number, state: State): void {
    const { first, from, tokens } = trie
    const own = from[node]!
    if (state.uncertain) {
      this.#found.doubt(tokens, own, to)
      return
    }
    const below = first[node] === first[node + 1] ? to : from[first[node]!]!
    if (own < below) {
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
