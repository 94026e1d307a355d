import { NONE_PASS } from '../automata/kinds.js'
import type { Cell } from '../automaton/cell.js'
import type { Frame } from '../automaton/frame.js'
import { Kept } from '../kept.js'
import { type Found, setTokens, setWords, type Tokens } from './found.js'
import type { StringWalk, StringWalkOptions } from './string-walk.js'
import type { Vocabulary } from './vocabulary.js'

/** The key of what is allowed wherever any text is. */
const ANYTHING = Symbol()

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
  readonly #insides = new Kept<Frame | typeof ANYTHING, Tokens>(INSIDES)
  readonly #longests = new Kept<Frame, number>(10 * INSIDES)
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
    const wide = budget === Infinity || this.#longest(frame) + below.length <= budget
    const plain = wide && frame.leaving !== NONE_PASS
    // Most masks are little else than plain content: copying it takes a third of the time of adding it.
    if (plain) {
      const words = this.#vocabulary.plainMask(frame.leaving, frame.room, true)
      if (anew) into.set(words)
      else setWords(into, words)
    }
    if (anew) into.fill(0, plain ? this.#vocabulary.words : 0)
    if (wide) setTokens(into, this.#inside(frame))
    else this.#narrow(into, frame, below, budget)
  }

  #inside(frame: Frame): Tokens {
    const { longestSpecial, tallest } = this.#vocabulary
    // Where the limit is not exact, longer plain tokens are among what is learned.
    const shared = frame.anything && frame.room >= (frame.exact ? longestSpecial : tallest)
    const key = shared ? ANYTHING : frame.inside
    let tokens = this.#insides.get(key)
    if (tokens === undefined) {
      this.#both(frame, { budget: Infinity, skip: frame.leaving, skipRoom: skipRoom(frame), cut: true })
      tokens = this.#found.tokens()
      this.#insides.set(key, tokens)
    }
    return tokens
  }

  #both(frame: Frame, options: StringWalkOptions): void {
    this.#scratch.fill(0)
    this.#found.begin(this.#scratch)
    this.#walk.run(this.#vocabulary.whole, frame, options)
    this.#walk.run(this.#vocabulary.cut, frame, options)
  }

  /** No way to the end of the string, and of what its text decides about, is longer after any of them. */
  #longest(frame: Frame): number {
    if (frame.longest !== Infinity) return frame.longest
    let longest = this.#longests.get(frame)
    if (longest === undefined) {
      this.#both(frame, { budget: Infinity, skip: NONE_PASS, skipRoom: Infinity, cut: true, measure: true })
      longest = this.#found.longest
      this.#longests.set(frame, longest)
    }
    return longest
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
    const all = { below, budget, skip: NONE_PASS, skipRoom: skipRoom(frame) }
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

/** Where one character more than there is room for is not allowed, no longer token needs a look. */
function skipRoom({ room, exact }: Frame): number {
  return exact ? Infinity : room
}
