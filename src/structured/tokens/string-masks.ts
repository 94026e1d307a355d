import type { Cell } from '../automaton/cell.js'
import type { Frame } from '../automaton/frame.js'
import { NONE_PASS } from '../text/kinds.js'
import { type Found, setTokens, setWords, type Tokens } from './found.js'
import { Kept } from './kept.js'
import type { StringWalk, StringWalkOptions } from './string-walk.js'
import type { Vocabulary } from './vocabulary.js'

/** What may follow a place inside a string without closing it, plain content left out. */
interface Inside {
  readonly tokens: Tokens
  /** No way to the end is longer after any of them. Absent while not measured. */
  longest: number | undefined
}

/** Of up to 19 KB each for a vocabulary of 152,000. */
const INSIDES = 150

/**
 * The tokens without a quote, at a place inside a string: they do not depend on what stands behind the string. Plain
 * content comes from the vocabulary's masks, the rest is learned.
 */
export class StringMasks {
  readonly #vocabulary: Vocabulary
  readonly #walk: StringWalk
  readonly #found: Found
  readonly #insides = new Kept<Frame, Inside>(INSIDES)
  readonly #scratch: Uint32Array

  constructor(vocabulary: Vocabulary, walk: StringWalk, found: Found) {
    this.#vocabulary = vocabulary
    this.#walk = walk
    this.#found = found
    this.#scratch = new Uint32Array(vocabulary.words)
  }

  /** Adds them to a mask, if after them `budget` tokens still suffice; `anew`: whatever it holds is to go. */
  fill(into: Uint32Array, cell: Cell, budget: number, anew: boolean): void {
    const frame = cell.frame!
    const below = cell.below!
    const inside = this.#inside(frame.twin(this.#vocabulary.longestSpecial))
    const wide = budget === Infinity || this.#longest(frame, inside) + below.length <= budget
    const plain = wide && frame.leaving !== NONE_PASS
    // Most masks are little else than plain content: copying it takes a third of the time of adding it.
    if (plain) {
      const words = this.#vocabulary.plainMask(frame.leaving, frame.room, true)
      if (anew) into.set(words)
      else setWords(into, words)
    }
    if (anew) into.fill(0, plain ? this.#vocabulary.words : 0)
    if (wide) setTokens(into, inside.tokens)
    else this.#narrow(into, frame, below, budget)
  }

  #inside(frame: Frame): Inside {
    let inside = this.#insides.get(frame)
    if (inside === undefined) {
      this.#both(frame, { budget: Infinity, skip: frame.leaving, cut: true })
      inside = { tokens: this.#found.tokens(), longest: undefined }
      this.#insides.set(frame, inside)
    }
    return inside
  }

  #both(frame: Frame, options: StringWalkOptions): void {
    this.#scratch.fill(0)
    this.#found.begin(this.#scratch)
    this.#walk.run(this.#vocabulary.whole, frame, options)
    this.#walk.run(this.#vocabulary.cut, frame, options)
  }

  #longest(frame: Frame, inside: Inside): number {
    if (frame.longest !== Infinity) return frame.longest
    if (inside.longest === undefined) {
      this.#both(frame, { budget: Infinity, skip: NONE_PASS, cut: true, measure: true })
      inside.longest = this.#found.longest
    }
    return inside.longest
  }

  /** With a budget that restricts: nothing to be kept. */
  #narrow(into: Uint32Array, frame: Frame, below: Cell, budget: number): void {
    const { whole, cut } = this.#vocabulary
    const { leaving, room } = frame
    const plain = (admitted: boolean | undefined, alsoCut: boolean): number => {
      if (admitted) setWords(into, this.#vocabulary.plainMask(leaving, room, alsoCut))
      return admitted === undefined ? NONE_PASS : leaving
    }
    this.#found.begin(into)
    const all = { below, budget, skip: NONE_PASS }
    if (leaving === NONE_PASS) {
      this.#walk.run(whole, frame, { ...all, cut: false })
      this.#walk.run(cut, frame, { ...all, cut: true })
      return
    }
    // Where the way is short enough even after a character cut off, it is for all.
    const admitsCut = this.#walk.admits(frame, { ...all, cut: true })
    const admitsWhole = admitsCut ?? this.#walk.admits(frame, { ...all, cut: false })
    const skip = plain(admitsWhole, admitsCut === true)
    this.#walk.run(whole, frame, { ...all, skip, cut: false })
    this.#walk.run(cut, frame, { ...all, skip: admitsCut ? leaving : NONE_PASS, cut: true })
  }
}
