import { getOrMake } from '../../platform/index.js'
import { countTexts } from '../automata/count.js'
import { ALL_PASS } from '../automata/kinds.js'
import { encoded } from '../values/text-length.js'
import { CharacterFrame } from './characters.js'
import { anyOf, classOf, noClass, type StringClass } from './content.js'
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
  #class: StringClass | undefined
  #best: KeyWay | undefined
  #most: number | undefined

  private constructor(state: MembersPlace, text: number, similar: SimilarKeys) {
    super(state.unresolved ? UNCERTAIN : 0)
    this.#state = state
    this.#text = text
    this.#similar = similar
  }

  /** At the start of a key; undefined if there can be none. */
  static first(state: MembersPlace): ExtraKeyFrame | undefined {
    const { text } = state.home.keys
    return ExtraKeyFrame.#at(state, text.start, SimilarKeys.all(state.knownKeys))
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

  protected override common(low: number, high: number): number {
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
    if (this.#alone || this.class.leaving === ALL_PASS) return text.alive(this.#text, low, high)
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

  override get class(): StringClass {
    this.#class ??= this.#classed()
    return this.#class
  }

  /** Where no taken key begins like this one, it does not matter which members have come. */
  #classed(): StringClass {
    const { home, admitsAnyExtra } = this.#state
    if (!admitsAnyExtra) return noClass()
    if (this.#alone) return getOrMake(home.names.alone, this.#text, () => this.#classedAlone())
    // Where any letters may come in any number, there is always some key that has not come yet; else one more character must
    // be free than may come: more keys than are taken then begin so too.
    const free = home.keys.text.freedomAll(this.#text) - 1
    return free === Infinity ? anyOf(free) : noClass(free)
  }

  #classedAlone(): StringClass {
    const found = classOf(this.#state.home.keys.text, this.#text)
    // With a limit on length, which place a key ends at may tell which value follows.
    const same = found.end === 'same' && (found.leaving !== ALL_PASS || found.room === Infinity)
    return same ? found : { ...found, end: 'unknown', needed: undefined }
  }

  override get longest(): number {
    this.#most ??=
      this.class.leaving === ALL_PASS && this.class.room === Infinity
        ? this.#state.longestAnyExtra(this.#similar.size)
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

  /** Where taken keys are all that keeps it from being a place in any text: that of any other key, and what is left of those. */
  get besides(): { readonly frame: ExtraKeyFrame; readonly taken: readonly Bytes[] } | undefined {
    if (this.#alone || !this.#state.admitsAnyExtra) return undefined
    const frame = ExtraKeyFrame.#at(this.#state, this.#text, SimilarKeys.NONE)
    if (frame?.class.needed === undefined) return undefined
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
    const free = others.map((codePoint) => this.#similar.freeFrom(codePoint))
    return [...owed, ...others, ...free].filter((codePoint) => codePoint >= low && codePoint <= high)
  }

  #way(): KeyWay {
    this.#best ??= cheapestWay(this.#state, this.#text, this.#similar, this.#owed())
    return this.#best
  }
}
