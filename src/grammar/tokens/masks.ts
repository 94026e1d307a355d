import type { Slices } from '../../platform/index.js'
import type { CharacterFrame, StringPlace } from '../automaton/characters.js'
import type { ItemFrame } from '../automaton/distinct.js'
import { type Bytes, type Cell, Cells, type Frame, IN_STRING, LIKE_USED } from '../automaton/frame.js'
import { ExtraKeyFrame } from '../automaton/key-extra.js'
import type { Machine, State } from '../automaton/machine.js'
import { TextFrame } from '../automaton/text.js'
import { FIRST_TOKEN } from '../automaton/token.js'
import { GrammarError } from '../grammar-error.js'
import { Kept } from '../kept.js'
import { advance, type TextPlace } from '../walk.js'
import { tokensAlike } from './alike.js'
import type { CloserList } from './closers.js'
import { TokenCosts } from './costs.js'
import { bytesOfTokens, type Found, setTokens, type Tokens } from './found.js'
import { Learned } from './learned.js'
import { StateWalk } from './state-walk.js'
import { StringMasks } from './string-masks.js'
import type { Vocabulary } from './vocabulary.js'

/** What may follow one thread, whatever the budget. Inside a string: of the tokens that close it. */
interface Memo {
  readonly tokens: Tokens
  /** Those that may be allowed, depending on the text of a key: tried one by one each time. */
  readonly unsure: readonly number[]
  /** The longest way to the end after any of them. */
  readonly longest: number
}

function bytesOfMemo({ tokens, unsure }: Memo): number {
  return bytesOfTokens(tokens) + 8 * unsure.length
}

/** Most hold few tokens; none more than 19 KB for a vocabulary of 152,000. */
const MEMOS = 400

/** Turns places in a grammar into masks over one vocabulary: for each thread by itself what may follow it. */
export class Masks {
  readonly machine: Machine
  readonly vocabulary: Vocabulary
  readonly costs: TokenCosts
  readonly #memos = new Kept<Cell, Memo>(MEMOS, bytesOfMemo)
  /** Of texts, by what stands behind them: it does not matter which text was closed. */
  readonly #behind = new Kept<string, Memo>(MEMOS, bytesOfMemo)
  readonly #found: Found
  readonly #states: StateWalk
  readonly #strings: StringMasks
  /** For keys, and for texts that nobody else has: their places belong to this grammar alone. */
  readonly #own: StringMasks

  constructor(machine: Machine, vocabulary: Vocabulary) {
    const missing = machine.tokens.find((name) => !vocabulary.named.has(name))
    if (missing !== undefined) throw new GrammarError(`the model has no token '${missing}'.`)
    this.machine = machine
    this.vocabulary = vocabulary
    this.costs = new TokenCosts(vocabulary, machine.work)
    // Not with the first mask: it may take 20 ms.
    const learned = Learned.of(vocabulary)
    learned.levels.closers(0, Infinity)
    this.#strings = learned.strings
    this.#found = learned.behind
    this.#states = new StateWalk(machine, this.costs, this.#found)
    this.#own = new StringMasks(vocabulary, learned)
  }

  /** What has been learned and is kept. */
  get bytes(): number {
    return this.#memos.bytes + this.#behind.bytes + this.#own.bytes + this.costs.bytes
  }

  /** Sets the bits of the tokens that may come next and after which `budget` tokens still suffice; pauses after much work. */
  *fillInSlices(into: Uint32Array, place: TextPlace, budget: number): Slices<void> {
    const { accepting } = place.state
    const alike: number[] = []
    const all = place.state.cells
    const cells = place.items === undefined ? all : all.flatMap((cell) => this.#heldApart(cell, alike))
    let anew = true
    for (const cell of cells) {
      if (((cell.frame?.traits ?? 0) & IN_STRING) !== 0) yield* this.#fillString(into, cell, place, budget, anew)
      else {
        if (anew) into.fill(0)
        const memo = this.#memos.get(cell) ?? (yield* this.#learn(cell))
        yield* this.#add(into, memo, place, budget, () => this.#walk(cell, budget))
      }
      anew = false
    }
    if (anew) into.fill(0)
    if (this.machine.tokens.length > 0) this.#fillTokens(into, place.state, budget)
    for (const token of alike) into[token >> 5]! &= ~(1 << (token & 31))
    if (alike.length > 0) yield* this.#decide(into, place, alike, budget)
    if (accepting) for (const token of this.vocabulary.eos) into[token >> 5]! |= 1 << (token & 31)
  }

  /** An item goes on as if none had come, but for the tokens with which it stays like one that has. */
  #heldApart(cell: Cell, alike: number[]): readonly Cell[] {
    if (cell.frame === undefined || (cell.frame.traits & LIKE_USED) === 0) return [cell]
    const frame = cell.frame as ItemFrame
    alike.push(...tokensAlike(this.vocabulary.tries, frame.begun))
    return frame.apart(cell.below!)
  }

  *#fillString(into: Uint32Array, cell: Cell, place: TextPlace, budget: number, anew: boolean): Slices<void> {
    const frame = cell.frame as StringPlace
    const below = cell.below!
    const { base } = frame
    const inText = base instanceof TextFrame
    const strings = inText && !base.home.text.sparse ? this.#strings : this.#own
    strings.fill(into, frame, { below, budget, costs: this.costs }, anew)
    if (!inText) {
      const memo = this.#memos.get(cell) ?? (yield* this.#learn(cell))
      yield* this.#add(into, memo, place, budget, () => this.#walk(cell, budget))
      return
    }
    const closers = strings.closers(frame)
    if (closers.closers.length === 0) return
    const key = `${cell.below!.id},${closers.id}`
    let memo = this.#behind.get(key)
    if (memo === undefined) {
      memo = yield* this.#learned(this.#close(cell, closers, Infinity))
      this.#behind.set(key, memo)
    }
    yield* this.#add(into, memo, place, budget, () => this.#close(cell, closers, budget))
  }

  /** A key closes as any other, but for those that are taken. */
  *#closeKey(cell: Cell, budget: number): Slices<void> {
    const frame = cell.frame as StringPlace
    const besides = frame instanceof ExtraKeyFrame ? frame.besides : undefined
    if (besides === undefined) {
      yield* this.#close(cell, this.#own.closers(frame), budget)
      return
    }
    const { quoted } = this.vocabulary
    const taken = besides.taken.flatMap((bytes) => {
      const at = quoted.find(bytes)
      return at === undefined ? [] : [{ bytes, ...at }]
    })
    const without = new Set<number>()
    for (const { node, end } of taken) {
      for (let i = quoted.from[node]!; i < end; i++) without.add(quoted.tokens[i]!)
    }
    this.#found.without = without
    yield* this.#close(cell.below!.push(besides.frame), this.#own.closers(besides.frame), budget)
    this.#found.without = undefined
    for (const { bytes, node, end } of taken) {
      const place = walked(frame, bytes.slice(0, -1))
      const closers = [{ frame: place, trie: quoted, nodes: [node], ends: [end] }]
      if (place?.closes) yield* this.#close(cell, { closers }, budget)
    }
  }

  /** Walks what stands behind the closing quote. */
  *#close(cell: Cell, { closers }: Pick<CloserList, 'closers'>, budget: number): Slices<void> {
    for (const { frame, trie, nodes, ends } of closers) {
      const out = new Cells()
      const closed = frame ?? (cell.frame as StringPlace).base
      closed.close(cell.below!, out)
      const state = this.machine.among(out)
      for (let i = 0; i < nodes.length; i++) {
        yield* this.#states.enter(trie, nodes[i]!, ends[i]!, state, budget)
      }
    }
  }

  *#add(into: Uint32Array, memo: Memo, place: TextPlace, budget: number, narrow: () => Slices<void>): Slices<void> {
    let { unsure } = memo
    if (memo.longest <= budget) setTokens(into, memo.tokens)
    else {
      // With a budget that restricts: nothing to be kept.
      this.#found.begin(into)
      yield* narrow()
      unsure = this.#found.unsure
    }
    if (unsure.length > 0) yield* this.#decide(into, place, unsure, budget)
  }

  /** Those that stand for no text. */
  #fillTokens(into: Uint32Array, state: State, budget: number): void {
    this.machine.tokens.forEach((name, i) => {
      const next = this.machine.step(state, FIRST_TOKEN + i)
      if (next.dead || !this.affordable(next, budget)) return
      const token = this.vocabulary.named.get(name)!
      into[token >> 5]! |= 1 << (token & 31)
    })
  }

  *#learn(cell: Cell): Slices<Memo> {
    const memo = yield* this.#learned(this.#walk(cell, Infinity))
    this.#memos.set(cell, memo)
    return memo
  }

  *#learned(walk: Slices<void>): Slices<Memo> {
    this.#found.clear()
    yield* walk
    const { unsure, longest } = this.#found
    return { tokens: this.#found.tokens(), unsure, longest }
  }

  *#walk(cell: Cell, budget: number): Slices<void> {
    if (cell.frame === undefined) return
    if ((cell.frame.traits & IN_STRING) !== 0) {
      yield* this.#closeKey(cell, budget)
      return
    }
    const state = this.machine.alone(cell)
    for (const trie of this.vocabulary.tries) yield* this.#states.start(trie, state, budget)
  }

  /** Tries them with the whole text at hand. */
  *#decide(into: Uint32Array, place: TextPlace, tokens: readonly number[], budget: number): Slices<void> {
    for (const token of tokens) {
      if (this.machine.work.tires()) yield
      const next = this.after(place, token)
      if (next !== undefined && this.affordable(next.state, budget)) into[token >> 5]! |= 1 << (token & 31)
    }
  }

  /** Whether so many tokens suffice to end from there. */
  affordable(state: State, budget: number): boolean {
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
    return state.dead ? undefined : { state, string: '', items: undefined }
  }
}

/** The place after these bytes, which end between two characters. */
function walked(from: StringPlace, bytes: Bytes): CharacterFrame | undefined {
  let frame: Frame | null | undefined = from
  for (let i = 0; i < bytes.length && frame; i++) frame = frame.move(bytes.charCodeAt(i))
  return (frame as CharacterFrame | null) ?? undefined
}
