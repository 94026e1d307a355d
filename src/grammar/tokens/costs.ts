import { getOrMake } from '../../platform/index.js'
import { type Cell, LOOSE } from '../automaton/frame.js'
import type { State } from '../automaton/machine.js'
import { StepWork } from '../fuel.js'
import { ENTRY_BYTES } from '../kept.js'
import type { Trie } from './trie.js'
import type { Vocabulary } from './vocabulary.js'

/** Ways to the end that are longer than this are counted in bytes: every byte is at most one token. */
export const SPELLED = 2048

/** Stacks of fewer frames are counted as they come. */
const TALL = 100

/** Kept before all is dropped. */
const MOST_BYTES = 2 ** 21

/** How many tokens the shortest way to the end takes from each byte of a frame's own part of it. */
interface Costs {
  readonly bytes: string
  readonly tokens: Int32Array
}

/** The fewest tokens with which the canonical shortest way to the end of a document can be written. */
export class TokenCosts {
  readonly #vocabulary: Vocabulary
  readonly #work: StepWork
  #known = new WeakMap<Cell, Costs>()
  /** Before each cell the longest way spelled lately: those from other places of the same frame end as it does. */
  #longest = new WeakMap<Cell, Costs>()
  /** Of forks: the least of their ways, which share most of what lies below them. */
  #forks = new WeakMap<Cell, number>()
  #bytes = 0
  readonly #states = new WeakMap<State, number>()

  /** `work` is told what it takes. */
  constructor(vocabulary: Vocabulary, work = new StepWork()) {
    this.#vocabulary = vocabulary
    this.#work = work
  }

  /** What is kept here. */
  get bytes(): number {
    return this.#bytes
  }

  of(state: State): number {
    let least = this.#states.get(state)
    if (least === undefined) {
      least = Infinity
      for (const cell of state.cells) least = Math.min(least, this.ofCell(cell))
      this.#states.set(state, least)
    }
    return least
  }

  ofCell(cell: Cell): number {
    if (cell.length > SPELLED) return cell.length
    // Here and not in the midst of a way, which rests on what is known of its end.
    if (this.#bytes > MOST_BYTES) {
      this.#known = new WeakMap()
      this.#longest = new WeakMap()
      this.#forks = new WeakMap()
      this.#bytes = 0
    }
    if (!this.#known.has(cell)) this.#begin(cell)
    return this.#at(cell, 0)
  }

  /** From the bottom up: a tall stack is more than the engine's own holds. */
  #begin(cell: Cell): void {
    const found = new Set([cell])
    for (const one of found) {
      const { below } = one
      const next = one.fork !== undefined ? spelled(one) : below === undefined ? [] : [below]
      for (const other of next) if (!this.#known.has(other) && !this.#forks.has(other)) found.add(other)
    }
    if (found.size < TALL) return
    for (const one of [...found].reverse()) {
      if (one.frame !== undefined) this.#costs(one)
      else this.#atFork(one)
    }
  }

  #at(cell: Cell, offset: number): number {
    let at = cell
    let i = offset
    while (at.frame !== undefined) {
      const { bytes, tokens } = this.#costs(at)
      if (i < bytes.length) return tokens[i]!
      i = 0
      at = at.below!
    }
    return this.#atFork(at)
  }

  /** From the beginning of each of its ways: no frame above a fork reaches into it. */
  #atFork(fork: Cell): number {
    if (fork.complete) return 0
    return getOrMake(this.#forks, fork, () => {
      this.#bytes += ENTRY_BYTES
      return spelled(fork).reduce((least, way) => Math.min(least, this.#at(way, 0)), NEVER)
    })
  }

  #costs(cell: Cell): Costs {
    let costs = this.#known.get(cell)
    if (costs === undefined) {
      const bytes = cell.frame!.spell()
      const other = this.#longest.get(cell.below!)
      const common = other === undefined ? 0 : commonEnd(bytes, other.bytes)
      // What is counted from a place on depends on nothing before it.
      const end = other?.tokens.subarray(other.bytes.length - common)
      if (end !== undefined && common === bytes.length) {
        costs = { bytes, tokens: end }
        this.#bytes += ENTRY_BYTES
      } else {
        costs = { bytes, tokens: new Int32Array(bytes.length) }
        if (end !== undefined) costs.tokens.set(end, bytes.length - common)
        this.#bytes += ENTRY_BYTES + 5 * bytes.length
      }
      this.#known.set(cell, costs)
      this.#work.tire(1 + bytes.length - common)
      for (let i = bytes.length - common - 1; i >= 0; i--) {
        costs.tokens[i] = bytes.charCodeAt(i) < LOOSE ? this.#least(cell, i) : this.#at(cell, i + 1) + 1
      }
      if (other === undefined || bytes.length > other.bytes.length || 2 * common < bytes.length) {
        this.#longest.set(cell.below!, costs)
      }
    }
    return costs
  }

  /** Tries every token that the way from here begins with. */
  #least(cell: Cell, from: number): number {
    return Math.min(...this.#vocabulary.tries.map((trie) => this.#leastOf(trie, 0, cell, from, new Set())))
  }

  /** From a node of the trie on, to which the bytes before this place have led. `seen`: forks come to, by their nodes. */
  #leastOf(trie: Trie, reached: number, cell: Cell, from: number, seen: Set<string>): number {
    let best = NEVER
    let at = cell
    let i = from
    for (let node = reached; ; ) {
      while (at.frame !== undefined && i >= this.#costs(at).bytes.length) {
        i = 0
        at = at.below!
      }
      if (at.frame === undefined) {
        if (at.complete || !isNew(seen, `${at.id},${node}`)) return best
        return spelled(at).reduce((least, way) => Math.min(least, this.#leastOf(trie, node, way, 0, seen)), best)
      }
      node = trie.child(node, this.#costs(at).bytes.charCodeAt(i))
      if (node === 0) return best
      i++
      if (trie.token(node) >= 0) best = Math.min(best, this.#at(at, i) + 1)
    }
  }
}

function isNew<T>(seen: Set<T>, value: T): boolean {
  const { size } = seen
  return seen.add(value).size > size
}

/** How many bytes two texts have in common at their ends. Before its beginning a text has no bytes, which are like none. */
function commonEnd(a: string, b: string): number {
  let common = 0
  while (a.charCodeAt(a.length - 1 - common) === b.charCodeAt(b.length - 1 - common)) common++
  return common
}

/** Of several ways on those that are short enough to be spelled out. */
function spelled(fork: Cell): readonly Cell[] {
  return fork.ways.filter((way) => way.length <= SPELLED)
}

/** Beyond any budget: the vocabulary cannot write it. */
const NEVER = 0x3fffffff
