import { KIND } from '../automata/kinds.js'
import { type Cell, Cells } from '../automaton/cell.js'
import { CharacterFrame } from '../automaton/characters.js'
import type { Frame } from '../automaton/frame.js'
import type { Machine } from '../automaton/machine.js'
import type { TokenCosts } from './costs.js'
import type { Found } from './found.js'
import { type Spot, Spots } from './spots.js'
import type { StateWalk } from './state-walk.js'
import type { Trie } from './trie.js'

const QUOTE = 0x22
/** The most bytes that a character cut off still lacks. */
const MOST_CUT = 3

export interface StringWalkOptions {
  /** What stands behind the string; absent where that and the budget do not matter. */
  readonly below?: Cell
  /** After a token so many must suffice. */
  readonly budget: number
  /** Tokens none of whose characters are of these kinds are left out. */
  readonly skip: number
  /** But for those of more characters. */
  readonly skipRoom: number
  /** Whether the tokens of the trie may end inside a character. */
  readonly cut: boolean
  /** Whether the longest way to the end is asked for. */
  readonly measure?: boolean
}

/** Walks a trie along the inside of a string; behind its closing quote a `StateWalk` goes on. */
export class StringWalk {
  readonly #machine: Machine
  readonly #costs: TokenCosts
  readonly #found: Found
  readonly #states: StateWalk
  readonly #shared = new Spots(true)
  readonly #own = new Spots(false)
  #spots = this.#own
  #options!: StringWalkOptions
  #walks = 0

  constructor(machine: Machine, costs: TokenCosts, found: Found, states: StateWalk) {
    this.#machine = machine
    this.#costs = costs
    this.#found = found
    this.#states = states
  }

  run(trie: Trie, frame: Frame, options: StringWalkOptions): void {
    this.#options = options
    this.#walks++
    this.#spots = options.below === undefined && !options.measure ? this.#shared : this.#own
    this.#visit(trie, 0, trie.tokens.length, this.#spots.start(frame), 0)
  }

  /** `depth`: how many bytes have come while all were of kinds that are left out; else -1. */
  #visit(trie: Trie, node: number, to: number, spot: Spot, depth: number): void {
    const { first, bytes, from, kinds, heights, tokens } = trie
    const { skip, skipRoom } = this.#options
    const last = first[node + 1]!
    for (let child = first[node]!; child < last; child++) {
      const byte = bytes[child]!
      const own = KIND[byte]!
      const all = own | kinds[child]!
      if (depth >= 0 && (all & skip) === 0 && depth + heights[child]! <= skipRoom) continue
      const start = from[child]!
      const end = child + 1 < last ? from[child + 1]! : to
      if ((all & spot.leaving) === 0 && heights[child]! <= spot.room && this.#takeAll(spot, tokens, start, end))
        continue
      if (byte === QUOTE && spot.frame instanceof CharacterFrame) {
        this.#close(trie, child, end, spot, spot.frame)
        continue
      }
      const next = this.#spots.step(spot, byte)
      if (next === null) continue
      const below = first[child] === first[child + 1] ? end : from[first[child]!]!
      const skipped = depth >= 0 && depth < skipRoom && (own & skip) === 0
      if (start < below && !skipped) this.#take(next, tokens, start, below)
      if (below < end) this.#visit(trie, child, end, next, skipped ? depth + 1 : -1)
    }
  }

  /** Decides about tokens that may all follow; false if each must be looked at. */
  #takeAll(spot: Spot, tokens: Uint32Array, from: number, to: number): boolean {
    if (this.#options.measure) this.#measure(longestAfter(spot.frame, this.#options.cut))
    const takes = this.#admits(spot)
    if (takes) this.#found.add(tokens, from, to)
    return takes !== undefined
  }

  /** Whether the budget suffices after all tokens that pass by kind, after none of them (false), or it depends. */
  admits(frame: Frame, options: StringWalkOptions): boolean | undefined {
    this.#options = options
    this.#walks++
    return this.#admits(this.#own.start(frame))
  }

  #admits(spot: Spot): boolean | undefined {
    const { below, budget, cut } = this.#options
    if (below === undefined || longestAfter(spot.frame, cut) + below.length <= budget) return true
    return spot.frame.settled && !cut ? this.#affordable(spot, below, budget) : undefined
  }

  #take(spot: Spot, tokens: Uint32Array, from: number, to: number): void {
    const { below, budget, measure } = this.#options
    // The bound costs less than the length of each place in the midst of a character or an escape.
    if (measure) this.#measure(spot.frame.longest < Infinity ? spot.frame.longest : spot.frame.length)
    if (below === undefined || this.#affordable(spot, below, budget)) this.#found.add(tokens, from, to)
  }

  #measure(length: number): void {
    const { below } = this.#options
    this.#found.longest = Math.max(this.#found.longest, length + (below?.length ?? 0))
  }

  #affordable(spot: Spot, below: Cell, budget: number): boolean {
    if (budget === Infinity) return true
    if (spot.asked !== this.#walks) {
      spot.asked = this.#walks
      const { frame } = spot
      spot.affordable = frame.length + below.length <= budget || this.#costs.ofCell(below.push(frame)) <= budget
    }
    return spot.affordable
  }

  #close(trie: Trie, node: number, to: number, spot: Spot, frame: CharacterFrame): void {
    const { below, budget } = this.#options
    if (below === undefined || !frame.closes) return
    if (spot.closing !== this.#walks || spot.closed === undefined) {
      const out = new Cells()
      frame.close(below, out)
      spot.closing = this.#walks
      spot.closed = this.#machine.among(out)
    }
    this.#states.enter(trie, node, to, spot.closed, budget)
  }
}

function longestAfter(frame: Frame, cut: boolean): number {
  return frame.longestWithin + (cut ? MOST_CUT : 0)
}
