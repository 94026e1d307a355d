import { NONE_PASS } from '../automata/kinds.js'
import type { Cell } from '../automaton/cell.js'
import type { Machine, State } from '../automaton/machine.js'
import { FIRST_TOKEN } from '../automaton/token.js'
import { GrammarError } from '../grammar-error.js'
import { Kept } from '../kept.js'
import { advance, type TextPlace } from '../walk.js'
import { TokenCosts } from './costs.js'
import { Found, setTokens, type Tokens } from './found.js'
import { StateWalk } from './state-walk.js'
import { StringMasks } from './string-masks.js'
import { StringWalk } from './string-walk.js'
import type { Vocabulary } from './vocabulary.js'

/** What may follow one thread, whatever the budget. Inside a string: of the tokens with a quote. */
interface Memo {
  readonly tokens: Tokens
  /** Those that may be allowed, depending on the text of a key: tried one by one each time. */
  readonly unsure: readonly number[]
  /** The length of the way to the end after the worst token, less that of the thread itself. */
  readonly growth: number
}

/** Most hold few tokens; none more than 19 KB for a vocabulary of 152,000. */
const MEMOS = 400

/** Turns places in a grammar into masks over one vocabulary: for each thread by itself what may follow it. */
export class Masks {
  readonly machine: Machine
  readonly vocabulary: Vocabulary
  readonly costs: TokenCosts
  readonly #memos = new Kept<Cell, Memo>(MEMOS)
  readonly #found: Found
  readonly #states: StateWalk
  readonly #strings: StringWalk
  readonly #insides: StringMasks
  readonly #scratch: Uint32Array

  constructor(machine: Machine, vocabulary: Vocabulary) {
    const missing = machine.tokens.find((name) => !vocabulary.named.has(name))
    if (missing !== undefined) throw new GrammarError(`the model has no token '${missing}'.`)
    this.machine = machine
    this.vocabulary = vocabulary
    this.costs = new TokenCosts(vocabulary)
    this.#found = new Found(vocabulary.words)
    this.#states = new StateWalk(machine, this.costs, this.#found)
    this.#strings = new StringWalk(machine, this.costs, this.#found, this.#states)
    this.#insides = new StringMasks(vocabulary, this.#strings, this.#found)
    this.#scratch = new Uint32Array(vocabulary.words)
  }

  /** Sets the bits of the tokens that may come next and after which `budget` tokens still suffice. */
  fill(into: Uint32Array, place: TextPlace, budget: number): void {
    const { cells, accepting } = place.state
    let anew = true
    for (const cell of cells) {
      if (cell.frame?.inString) this.#insides.fill(into, cell, budget, anew)
      else if (anew) into.fill(0)
      anew = false
      this.#fillMore(into, cell, place, budget)
    }
    if (anew) into.fill(0)
    this.#fillTokens(into, place.state, budget)
    if (accepting) for (const token of this.vocabulary.eos) into[token >> 5]! |= 1 << (token & 31)
  }

  #fillMore(into: Uint32Array, cell: Cell, place: TextPlace, budget: number): void {
    const key = this.#keyOf(cell)
    const memo = this.#memos.get(key) ?? this.#learn(key)
    let { unsure } = memo
    if (cell.length + memo.growth <= budget) setTokens(into, memo.tokens)
    else {
      // With a budget that restricts: nothing to be kept.
      this.#found.begin(into)
      this.#walk(cell, budget)
      unsure = this.#found.unsure
    }
    if (unsure.length > 0) this.#decide(into, place, unsure, budget)
  }

  /** Those that stand for no text. */
  #fillTokens(into: Uint32Array, state: State, budget: number): void {
    this.machine.tokens.forEach((name, i) => {
      const next = this.machine.step(state, FIRST_TOKEN + i)
      if (next.dead || !this.#affordable(next, budget)) return
      const token = this.vocabulary.named.get(name)!
      into[token >> 5]! |= 1 << (token & 31)
    })
  }

  /** Places in counted strings share what is known while no limit is near. */
  #keyOf(cell: Cell): Cell {
    const twin = cell.frame?.twin(this.vocabulary.longestSpecial)
    return twin === cell.frame ? cell : cell.below!.push(twin!)
  }

  #learn(cell: Cell): Memo {
    this.#scratch.fill(0)
    this.#found.begin(this.#scratch)
    this.#walk(cell, Infinity)
    const { unsure, longest } = this.#found
    const memo = { tokens: this.#found.tokens(), unsure, growth: longest - cell.length }
    this.#memos.set(cell, memo)
    return memo
  }

  #walk(cell: Cell, budget: number): void {
    const { frame, below } = cell
    const { tries, quoted } = this.vocabulary
    const options = { budget, skip: NONE_PASS, skipRoom: Infinity, cut: false, measure: budget === Infinity }
    if (frame?.inString) this.#strings.run(quoted, frame, { below: below!, ...options })
    else if (frame !== undefined) for (const trie of tries) this.#states.start(trie, this.machine.alone(cell), budget)
  }

  /** Tries them with the whole text at hand. */
  #decide(into: Uint32Array, place: TextPlace, tokens: readonly number[], budget: number): void {
    for (const token of tokens) {
      const next = this.after(place, token)
      if (next !== undefined && this.#affordable(next.state, budget)) into[token >> 5]! |= 1 << (token & 31)
    }
  }

  #affordable(state: State, budget: number): boolean {
    return state.length <= budget || this.costs.of(state) <= budget
  }

  /** The place after a token; undefined if it is not allowed there. */
  after(place: TextPlace, token: number): TextPlace | undefined {
    const bytes = this.vocabulary.bytes(token)
    if (bytes.length === 0) return this.#afterSilent(place, token)
    let at = place
    for (const byte of bytes) {
      at = advance(this.machine, at, byte)
      if (at.state === this.machine.dead) return undefined
    }
    return at
  }

  #afterSilent(place: TextPlace, token: number): TextPlace | undefined {
    const i = this.machine.tokens.findIndex((name) => this.vocabulary.named.get(name) === token)
    if (i < 0) return undefined
    const state = this.machine.step(place.state, FIRST_TOKEN + i)
    return state.dead ? undefined : { state, string: '', inString: state.inString }
  }
}
