import { countTexts } from '../automata/count.js'
import { isLevel, leaving as leavingKinds, NONE_PASS, SPECIAL } from '../automata/kinds.js'
import { encoded, IN_JSON } from '../values/text-length.js'
import { CharacterFrame, MOST_LEFT } from './characters.js'
import type { ContentFrame, Passing } from './content.js'
import { type Bytes, type Cell, type Cells, type Frame, UNCERTAIN } from './frame.js'
import type { MembersPlace } from './frames.js'
import { codePointAt } from './key-bytes.js'
import { cheapestWay, type KeyWay } from './key-ways.js'
import { SimilarKeys } from './similar-keys.js'
import { listCharacters, samplesOf } from './text.js'

/** Places from which the way to the end is asked for, to have the longest. */
const MOST_PLACES = 150

/** Inside a key that is not declared: any but the taken ones. */
export class ExtraKeyFrame extends CharacterFrame {
  readonly #state: MembersPlace
  readonly #text: number
  readonly #similar: SimilarKeys
  override readonly leaving: number
  override readonly room: number
  override readonly anything: boolean
  override readonly free: number
  override readonly level: boolean
  override readonly settled: boolean
  #best: KeyWay | undefined
  #most: number | undefined

  private constructor(state: MembersPlace, text: number, similar: SimilarKeys) {
    super(state.unresolved ? UNCERTAIN : 0)
    this.#state = state
    this.#text = text
    this.#similar = similar
    const automaton = state.home.keys.text
    const { admitsAnyExtra } = state
    // Where any letters may come in any number, there is always some key that has not come yet.
    // Where taken keys begin so, one more character must be free than may come: more keys than are taken then begin so too.
    this.free = admitsAnyExtra ? automaton.freedomAll(text) - (this.#alone ? 0 : 1) : -1
    this.anything = this.free === Infinity
    const passing = admitsAnyExtra && this.#alone ? leavingKinds(automaton, text) : NONE_PASS
    this.leaving = this.anything ? SPECIAL : passing
    this.room = this.anything ? Infinity : passing === NONE_PASS ? -1 : automaton.room(text)
    // With a limit on length, which place a key ends at may tell which value follows.
    this.level = passing === SPECIAL && automaton.room(text) === Infinity && isLevel(automaton, text) && this.closes
    this.settled = passing !== NONE_PASS && (!this.anything || this.level) && IN_JSON.isSteady(automaton, text)
  }

  /** At the start of a key; undefined if there can be none. */
  static first(state: MembersPlace): ExtraKeyFrame | undefined {
    const { text } = state.home.keys
    return ExtraKeyFrame.#at(state, text.start, SimilarKeys.all(state.toldApart))
  }

  static #at(state: MembersPlace, text: number, similar: SimilarKeys): ExtraKeyFrame | undefined {
    if (text === 0) return undefined
    const key = similar.none ? text : `${text},${similar.id}`
    let frame = state.extraFrames.get(key)
    if (frame === undefined) {
      const made = new ExtraKeyFrame(state, text, similar)
      frame = made.#leadsSomewhere() ? made : null
      state.extraFrames.set(key, frame)
    }
    return (frame as ExtraKeyFrame | null) ?? undefined
  }

  /** No key that is told apart begins like this one. */
  get #alone(): boolean {
    return this.#similar.none
  }

  #leadsSomewhere(): boolean {
    const { home, admitsAnyExtra } = this.#state
    if (this.#owed().length > 0) return true
    if (!admitsAnyExtra) return false
    const texts = countTexts(home.keys.text, this.#text)
    return texts === Infinity || texts > this.#taken.filter((bytes) => home.names.isExtra(bytes)).length
  }

  /** The taken keys that begin like this one. */
  get #taken(): readonly Bytes[] {
    const { texts } = this.#similar
    return this.#state.planned.length === 0 ? texts : texts.filter((bytes) => !this.#state.planned.includes(bytes))
  }

  /** The required keys that this one may still become, in the order in which the plan has them. */
  #owed(): Bytes[] {
    if (this.#state.pending === 0) return []
    const { home } = this.#state
    const owed = this.#similar.texts.filter((bytes) => this.#state.owes(bytes))
    return owed.sort((a, b) => home.names.pendingBit(a) - home.names.pendingBit(b))
  }

  override get uniform(): boolean {
    return this.#alone && this.#state.home.keys.text.classes.count === 2
  }

  override after(codePoint: number): ExtraKeyFrame | undefined {
    const text = this.#state.home.keys.text.next(this.#text, codePoint)
    return ExtraKeyFrame.#at(this.#state, text, this.#similar.narrowed(encoded(codePoint)))
  }

  /** Beginnings of characters that no taken key goes on with are those of a key that is like none. */
  override partial(bits: number, left: number, size: number): Frame | undefined {
    if (
      !this.#alone &&
      this.#state.admitsAnyExtra &&
      !this.#similar.goOnWithin(bits << (6 * left), ((bits + 1) << (6 * left)) - 1)
    ) {
      const alone = ExtraKeyFrame.#at(this.#state, this.#text, SimilarKeys.NONE)
      if (alone !== undefined) return alone.partial(bits, left, size)
    }
    return super.partial(bits, left, size)
  }

  protected override classOf(low: number, high: number): number {
    return this.#alone ? this.#state.home.keys.text.classes.common(low, high) : -1
  }

  override alive(low: number, high: number): boolean {
    if (this.#state.admitsAnyExtra) return this.#aliveBeside(low, high)
    return this.#owed().some((bytes) => {
      const next = codePointAt(bytes, this.#similar.depth)
      return next >= low && next <= high
    })
  }

  /** What a taken key goes on with may lead to that key alone. */
  #aliveBeside(low: number, high: number): boolean {
    const { text } = this.#state.home.keys
    if (this.#alone || this.anything) return text.alive(this.#text, low, high)
    const taken = new Set(this.#similar.texts.map((bytes) => codePointAt(bytes, this.#similar.depth)))
    let from = low
    for (const next of [...taken].sort((a, b) => a - b)) {
      if (next < low || next > high) continue
      if ((from < next && text.alive(this.#text, from, next - 1)) || this.after(next) !== undefined) return true
      from = next + 1
    }
    return from <= high && text.alive(this.#text, from, high)
  }

  override get closes(): boolean {
    const { home, admitsAnyExtra } = this.#state
    if (home.keys.value(this.#text) === undefined) return false
    const same = this.#similar.same
    return same === undefined || this.#state.planned.includes(same) ? admitsAnyExtra : this.#state.owes(same)
  }

  override close(below: Cell, out: Cells): void {
    const { home } = this.#state
    const same = this.#similar.same
    const bit = same === undefined ? 0 : home.names.pendingBit(same)
    out.add(this.#state.extraMember(home.keys.value(this.#text)!, bit, below))
  }

  override next(_below: Cell, into: Set<number>): boolean {
    const { home, admitsAnyExtra } = this.#state
    if (admitsAnyExtra) return listCharacters(home.keys.text, this.#text, this.closes, into)
    for (const bytes of this.#owed()) into.add(bytes.charCodeAt(this.#similar.depth))
    return true
  }

  override get length(): number {
    return this.#state.home.program.length(this.#way().weight)
  }

  override get exact(): boolean {
    return true
  }

  override get needed(): number {
    return 0
  }

  override get text(): boolean {
    return false
  }

  override get few(): undefined {
    return undefined
  }

  override get shared(): boolean {
    return false
  }

  override get roaming(): Passing {
    return this
  }

  override get longestBetween(): number {
    return this.settled ? this.length : this.#longestKey
  }

  override get longest(): number {
    return (this.level ? this.length : this.#longestKey) + MOST_LEFT
  }

  /** No way to the end is longer, wherever this key goes. */
  get #longestKey(): number {
    this.#most ??= this.anything
      ? this.#state.longestAnyExtra(this.#similar.texts.length)
      : Math.max(this.#state.admitsAnyExtra ? this.#state.longestExtra(0) : 0, this.#longestAlong())
    return this.#most
  }

  /** The longest way to the end from any place on the way through a taken key; `Infinity` where they are many. */
  #longestAlong(): number {
    let longest = 0
    let places = 0
    for (const bytes of this.#similar.texts) {
      let frame: ExtraKeyFrame | undefined = this
      for (let at = this.#similar.depth; frame !== undefined; ) {
        longest = Math.max(longest, frame.length)
        if (++places > MOST_PLACES) return Infinity
        const codePoint = codePointAt(bytes, at)
        if (codePoint < 0) break
        frame = frame.after(codePoint)
        at += encoded(codePoint).length
      }
    }
    return longest
  }

  /** Where no taken key begins like this one, it does not matter which members have come. */
  override get like(): ContentFrame {
    const { home, admitsAnyExtra } = this.#state
    if (!this.#alone || !admitsAnyExtra) return this
    const like = home.names.alone.get(this.#text)
    if (like === undefined) home.names.alone.set(this.#text, this)
    return like ?? this
  }

  override get besides(): ContentFrame['besides'] {
    if (this.#alone || !this.#state.admitsAnyExtra) return undefined
    const frame = ExtraKeyFrame.#at(this.#state, this.#text, SimilarKeys.NONE)
    if (!frame?.level) return undefined
    return { frame, taken: this.#similar.texts.map((bytes) => bytes.slice(this.#similar.depth)) }
  }

  override spell(): Bytes {
    return this.#way().spell()
  }

  override get onTheWay(): number {
    return this.#way().first
  }

  override samples(low: number, high: number): number[] {
    const owed = this.#owed().map((bytes) => codePointAt(bytes, this.#similar.depth))
    const others = this.#state.admitsAnyExtra ? samplesOf(this.#state.home.keys.text, low, high) : []
    // Where a key of the greatest length is taken, its last character leads nowhere, unlike the next one of its class.
    const taken = new Set(this.#similar.texts.map((bytes) => codePointAt(bytes, this.#similar.depth)))
    const free = others.map((codePoint) => {
      let next = codePoint
      while (taken.has(next)) next++
      return next
    })
    return [...owed, ...others, ...free].filter((codePoint) => codePoint >= low && codePoint <= high)
  }

  #way(): KeyWay {
    this.#best ??= cheapestWay(this.#state, this.#text, this.#similar, this.#owed())
    return this.#best
  }
}
