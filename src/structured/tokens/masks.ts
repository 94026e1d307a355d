import type { Machine, State } from '../automaton/machine.js'
import { advance, type Place } from '../walk.js'
import { TokenCosts } from './costs.js'
import type { Trie } from './trie.js'
import type { Vocabulary } from './vocabulary.js'

/** What may follow a state, whatever the budget. */
interface Memo {
  /** All words, or where few tokens are allowed only those. */
  readonly words: Uint32Array | undefined
  readonly tokens: Int32Array | undefined
  /** The length of the way to the end after the worst of these tokens: a budget above it restricts nothing. */
  readonly longest: number
}

const FEW = 512
/** At 19 KB for a vocabulary of 152,000. */
const MEMOS = 256

/** Turns places in a grammar into masks over one vocabulary. */
export class Masks {
  readonly machine: Machine
  readonly vocabulary: Vocabulary
  readonly costs: TokenCosts
  #memos = new Map<State, Memo>()
  readonly #found: Int32Array
  #count = 0
  #longest = 0
  #exact = false
  #place!: Place
  #mask!: Uint32Array
  #budget = Infinity

  constructor(machine: Machine, vocabulary: Vocabulary) {
    this.machine = machine
    this.vocabulary = vocabulary
    this.costs = new TokenCosts(vocabulary)
    this.#found = new Int32Array(FEW)
  }

  /** Sets the bits of the tokens that may come next and after which `budget` tokens still suffice. */
  fill(into: Uint32Array, place: Place, budget: number): void {
    const memo = this.#memos.get(place.state)
    if (memo === undefined) {
      this.#compute(into, place, Infinity)
      if (budget < this.#longest) this.#compute(into, place, budget)
    } else if (budget < memo.longest) this.#compute(into, place, budget)
    else recall(memo, into)
  }

  #compute(into: Uint32Array, place: Place, budget: number): void {
    const { state } = place
    this.#mask = into
    this.#place = place
    this.#budget = budget
    this.#mask.fill(0)
    this.#count = 0
    this.#longest = 0
    this.#exact = false
    if (state.accepting) for (const token of this.vocabulary.eos) this.#allow(token)
    this.#visit(this.#slice(state), 0, state)
    if (budget === Infinity && !this.#exact) this.#remember(state)
  }

  /** Allows the tokens of plain content at once where they all are, and says which tokens are left to try. */
  #slice(state: State): Trie {
    const { longestPlain, rest, trie } = this.vocabulary
    let freedom = 0
    let longest = Infinity
    let settled = true
    for (const { frame, below } of state.cells) {
      if (frame === undefined) continue
      if (!frame.freedomIsAll) settled = false
      if (frame.freedom < 1 || frame.freedom < freedom) continue
      const length = frame.longestWithin + below!.length
      if (length > this.#budget) settled = false
      else {
        longest = frame.freedom > freedom ? length : Math.min(length, longest)
        freedom = frame.freedom
      }
    }
    if (freedom < 1) return trie
    this.#mask.set(this.vocabulary.plainMask(freedom))
    this.#count = FEW + 1
    this.#longest = longest
    return freedom >= longestPlain || settled ? rest : trie
  }

  #visit(trie: Trie, node: number, state: State): void {
    const { first, bytes } = trie
    const from = first[node]!
    const to = first[node + 1]!
    const next = to - from > 8 ? state.next : null
    if (next !== null && next.length * 4 < to - from) {
      for (const byte of next) {
        const child = trie.child(node, byte)
        if (child !== 0) this.#enter(trie, child, state, byte)
      }
    } else {
      for (let child = from; child < to; child++) this.#enter(trie, child, state, bytes[child]!)
    }
  }

  #enter(trie: Trie, child: number, state: State, byte: number): void {
    const { machine } = this
    const next = state.row?.[byte] ?? machine.step(state, byte)
    if (next === machine.dead) return
    if (next.uncertain) {
      this.#tryEach(trie, child)
      return
    }
    const token = trie.tokens[child]!
    if (token >= 0 && this.#affordable(next)) this.#allowText(token, next)
    if (trie.first[child]! < trie.first[child + 1]!) this.#visit(trie, child, next)
  }

  #affordable(state: State): boolean {
    return state.length <= this.#budget || this.costs.of(state) <= this.#budget
  }

  #allowText(token: number, next: State): void {
    if (next.length > this.#longest) this.#longest = next.length
    this.#allow(token)
    const twins = this.vocabulary.twins(token)
    if (twins !== undefined) for (const twin of twins) this.#allow(twin)
  }

  #allow(token: number): void {
    this.#mask[token >> 5]! |= 1 << (token & 31)
    if (this.#count < FEW) this.#found[this.#count] = token
    this.#count++
  }

  /** Token by token with the whole text at hand, where it matters which key has just been closed. */
  #tryEach(trie: Trie, node: number): void {
    this.#exact = true
    const token = trie.tokens[node]!
    if (token >= 0) {
      const place = this.after(this.#place, token)
      if (place !== undefined && this.#affordable(place.state)) this.#allowText(token, place.state)
    }
    for (let child = trie.first[node]!; child < trie.first[node + 1]!; child++) this.#tryEach(trie, child)
  }

  /** The place after a token; undefined if it is not allowed there. */
  after(place: Place, token: number): Place | undefined {
    const bytes = this.vocabulary.bytes(token)
    if (bytes.length === 0) return undefined
    let at = place
    for (const byte of bytes) {
      at = advance(this.machine, at, byte)
      if (at.state === this.machine.dead) return undefined
    }
    return at
  }

  #remember(state: State): void {
    if (this.#memos.size >= MEMOS) this.#memos = new Map()
    const few = this.#count <= FEW
    this.#memos.set(state, {
      tokens: few ? this.#found.slice(0, this.#count) : undefined,
      words: few ? undefined : this.#mask.slice(0, this.vocabulary.words),
      longest: this.#longest,
    })
  }
}

function recall(memo: Memo, into: Uint32Array): void {
  if (memo.tokens !== undefined) {
    into.fill(0)
    for (const token of memo.tokens) into[token >> 5]! |= 1 << (token & 31)
    return
  }
  into.set(memo.words!)
  if (into.length > memo.words!.length) into.fill(0, memo.words!.length)
}
