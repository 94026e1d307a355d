import type { Cell } from '../automaton/cell.js'
import type { Machine, State } from '../automaton/machine.js'
import { advance, type Place } from '../walk.js'
import { TokenCosts } from './costs.js'
import type { Trie } from './trie.js'
import type { Vocabulary } from './vocabulary.js'

/** What may follow a state, whatever the budget. */
interface Memo {
  /** These apart, all plain content that the state's freedom admits is allowed. */
  readonly sliced: boolean
  /** All words, or where few tokens are allowed only those. */
  readonly words: Uint32Array | undefined
  readonly tokens: Int32Array | undefined
  /** Those that may be allowed, depending on the text of a key: tried one by one each time. */
  readonly unsure: readonly number[]
  /** The length of the way to the end after the worst token, less that of the state itself. */
  readonly growth: number
}

const FEW = 4096
/** Of up to 19 KB each for a vocabulary of 152,000. */
const MEMOS = 400

/** Turns places in a grammar into masks over one vocabulary. */
export class Masks {
  readonly machine: Machine
  readonly vocabulary: Vocabulary
  readonly costs: TokenCosts
  #memos = new Map<State | Cell, Memo>()
  readonly #found = new Int32Array(FEW)
  #count = 0
  #longest = 0
  #unsure: number[] = []
  #place!: Place
  #mask!: Uint32Array
  #budget = Infinity
  #plain = 0
  #scratch: Uint32Array | undefined

  constructor(machine: Machine, vocabulary: Vocabulary) {
    this.machine = machine
    this.vocabulary = vocabulary
    this.costs = new TokenCosts(vocabulary)
  }

  /** Sets the bits of the tokens that may come next and after which `budget` tokens still suffice. */
  fill(into: Uint32Array, place: Place, budget: number): void {
    const { state } = place
    const key = this.#keyOf(state)
    const memo = this.#memos.get(key) ?? this.#learn(place, key)
    if (budget < state.length + memo.growth) this.#compute(into, place, budget)
    else this.#recall(memo, place, budget, into)
  }

  /** Places in counted strings share what is known while no limit is near. */
  #keyOf(state: State): State | Cell {
    const [cell] = state.cells
    if (state.cells.length !== 1 || cell!.frame === undefined || cell!.frame.freedom < 1) return state
    const twin = cell!.frame.twin(this.vocabulary.longestRest)
    return twin === cell!.frame ? cell! : cell!.below!.push(twin)
  }

  #learn(place: Place, key: State | Cell): Memo {
    const { state } = place
    this.#start(undefined, place, Infinity)
    const trie = this.#slice(state)
    const sliced = trie === this.vocabulary.rest
    this.#visit(trie, 0, state)
    const few = this.#count <= FEW
    const tokens = few ? this.#found.slice(0, this.#count) : undefined
    const words = few ? undefined : this.#mask.slice()
    const memo = { sliced, tokens, words, unsure: this.#unsure, growth: this.#longest - state.length }
    if (this.#memos.size >= MEMOS) this.#memos = new Map()
    this.#memos.set(key, memo)
    return memo
  }

  #recall({ sliced, tokens, words, unsure }: Memo, place: Place, budget: number, into: Uint32Array): void {
    const base = sliced ? this.vocabulary.plainMask(freedomOf(place.state)) : words
    if (base === undefined) into.fill(0)
    else {
      into.set(base)
      if (into.length > base.length) into.fill(0, base.length)
      if (sliced && words !== undefined) for (let i = 0; i < words.length; i++) into[i]! |= words[i]!
    }
    if (tokens !== undefined) for (const token of tokens) into[token >> 5]! |= 1 << (token & 31)
    if (unsure.length === 0) return
    this.#mask = into
    this.#place = place
    this.#budget = budget
    this.#decide(unsure)
  }

  #start(into: Uint32Array | undefined, place: Place, budget: number): void {
    this.#scratch ??= new Uint32Array(this.vocabulary.words)
    this.#mask = into ?? this.#scratch
    this.#mask.fill(0)
    this.#place = place
    this.#budget = budget
    this.#count = 0
    this.#longest = 0
    this.#unsure = []
    if (place.state.accepting) for (const token of this.vocabulary.eos) this.#allow(token)
  }

  /** With a budget that restricts, or where the text of a key matters: nothing to be kept. */
  #compute(into: Uint32Array, place: Place, budget: number): void {
    this.#start(into, place, budget)
    const trie = this.#slice(place.state)
    if (this.#plain > 0) this.#mask.set(this.vocabulary.plainMask(this.#plain))
    this.#visit(trie, 0, place.state)
    this.#decide(this.#unsure)
  }

  /** How much plain content is allowed as a whole, and which tokens are then left to try. */
  #slice(state: State): Trie {
    const { longestPlain, rest, trie } = this.vocabulary
    this.#plain = 0
    let others = false
    for (const cell of state.cells) {
      const { frame } = cell
      if (frame === undefined || frame.freedom < 1) {
        others = true
        continue
      }
      const length = frame.longestWithin + cell.below!.length
      const fits = length <= this.#budget || (frame.settled && this.costs.ofCell(cell) <= this.#budget)
      if (fits && frame.freedom > this.#plain) {
        this.#plain = frame.freedom
        this.#longest = length
      }
      // A settled frame that does not fit allows no plain content at all; of any other it is not known.
      if (!frame.freedomIsAll || !(fits || frame.settled)) others = true
    }
    return this.#plain >= longestPlain || !others ? rest : trie
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
      this.#doubt(trie, child)
      return
    }
    const token = trie.tokens[child]!
    if (token >= 0) {
      if (this.#affordable(next)) this.#allowText(token, next)
      else if (next.guessed) this.#unsure.push(token, ...(this.vocabulary.twins(token) ?? []))
    }
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

  #set(token: number): void {
    this.#mask[token >> 5]! |= 1 << (token & 31)
  }

  #allow(token: number): void {
    this.#set(token)
    if (this.#count < FEW) this.#found[this.#count] = token
    this.#count++
  }

  /** Collects the tokens for which it matters which key has just been closed. */
  #doubt(trie: Trie, node: number): void {
    const token = trie.tokens[node]!
    if (token >= 0) this.#unsure.push(token, ...(this.vocabulary.twins(token) ?? []))
    for (let child = trie.first[node]!; child < trie.first[node + 1]!; child++) this.#doubt(trie, child)
  }

  /** Tries them with the whole text at hand. */
  #decide(tokens: readonly number[]): void {
    for (const token of tokens) {
      const place = this.after(this.#place, token)
      if (place !== undefined && this.#affordable(place.state)) this.#set(token)
    }
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
}

function freedomOf(state: State): number {
  let freedom = 0
  for (const { frame } of state.cells) if (frame !== undefined && frame.freedom > freedom) freedom = frame.freedom
  return freedom
}
