import { getOrMake } from '../../platform/index.js'
import { ALL_PASS, NONE_PASS, roaming, SPECIAL } from '../automata/kinds.js'
import type { TextAutomaton } from '../automata/types.js'
import { type CharacterFrame, MOST_LEFT, type StringPlace } from '../automaton/characters.js'
import type { Passing, StringClass } from '../automaton/content.js'
import { TextFrame } from '../automaton/text.js'
import { ENTRY_BYTES, Kept } from '../kept.js'
import { bytesOfClosers, type CloserList, ClosersFound } from './closers.js'
import type { DeadEnds } from './dead-ends.js'
import { FewWalk } from './few-walk.js'
import { bytesOfTokens, type Found, setTokens, setWords, type Tokens } from './found.js'
import type { LevelMasks } from './level-masks.js'
import { PlaceWalk } from './place-walk.js'
import {
  behindOf,
  isAffordable,
  type Reached,
  type Rest,
  reach,
  StringWalk,
  type StringWalkOptions,
} from './string-walk.js'
import { NOWHERE, type TextWalk } from './text-walk.js'
import type { Trie } from './trie.js'
import type { Vocabulary } from './vocabulary.js'

/** Of up to 19 KB each for a vocabulary of 152,000. */
const INSIDES = 150

/** Nodes that are followed one by one, most of them about a place for the first time, before all are walked by their characters. */
const FEW_NODES = 4000

/** What may come before the closing quote: these tokens beside those of plain content, or all but those that lead nowhere. */
type Inside = { readonly plain: Passing; readonly tokens: Tokens } | { readonly dead: Int32Array }

/** Of a place from which few characters lead on: the tokens, and the longest of the shortest ways to the end after any. */
interface Few {
  readonly tokens: Tokens
  readonly longest: number
}

function bytesOfInside(inside: Inside): number {
  return 'dead' in inside ? ENTRY_BYTES + inside.dead.byteLength : bytesOfTokens(inside.tokens)
}

function bytesOfPlaces(places: ReadonlySet<StringPlace>): number {
  return ENTRY_BYTES + 20 * places.size
}

/** Of a walk that a budget restricts. */
type BudgetWalk = Omit<StringWalkOptions, 'cut'> & Required<Pick<StringWalkOptions, 'rest' | 'reached'>>

interface LearnedParts {
  readonly levels: LevelMasks
  readonly inStrings: Found
  readonly deadEnds: DeadEnds
  readonly characters: TextWalk
  readonly escaped: Trie
}

/**
 * What may come at a place inside a string: the tokens that end before its closing quote, which do not depend on what
 * stands behind it, and those that close it. Where any text may come both are known for the whole vocabulary; elsewhere
 * plain content comes from the vocabulary's masks, and the rest is learned.
 */
export class StringMasks {
  readonly #vocabulary: Vocabulary
  readonly #levels: LevelMasks
  readonly #found: Found
  readonly #walk: StringWalk
  readonly #places: PlaceWalk
  readonly #fewWalk: FewWalk
  readonly #fews = new Kept<StringPlace, Few>(INSIDES, ({ tokens }) => bytesOfTokens(tokens))
  readonly #deadEnds: DeadEnds
  readonly #characters: TextWalk
  readonly #escaped: Trie
  readonly #insides = new Kept<StringClass, Inside>(INSIDES, bytesOfInside)
  /** No way to the end of the string is longer after any token, as such walks have found. */
  readonly #longests = new Kept<StringPlace, number>(10 * INSIDES)
  /** All places that tokens lead to, as walks with a budget that restricts have met them. */
  readonly #reached = new Kept<StringPlace, ReadonlySet<StringPlace>>(INSIDES, bytesOfPlaces)
  /** Texts in which it takes long to look at tokens one by one. */
  readonly #long = new WeakSet<TextAutomaton>()
  readonly #closers = new Kept<StringPlace, CloserList>(10 * INSIDES, bytesOfClosers)
  readonly #closersFound = new ClosersFound()
  readonly #scratch: Uint32Array

  constructor(vocabulary: Vocabulary, { levels, inStrings, deadEnds, characters, escaped }: LearnedParts) {
    this.#vocabulary = vocabulary
    this.#levels = levels
    this.#found = inStrings
    this.#walk = new StringWalk(this.#found)
    this.#places = new PlaceWalk(this.#found)
    this.#fewWalk = new FewWalk(this.#found)
    this.#deadEnds = deadEnds
    this.#characters = characters
    this.#escaped = escaped
    this.#scratch = new Uint32Array(vocabulary.words)
  }

  /** What is kept here. */
  get bytes(): number {
    const bytes = this.#reached.bytes + this.#places.bytes + this.#fews.bytes
    return bytes + this.#insides.bytes + this.#longests.bytes + this.#closers.bytes + this.#walk.bytes
  }

  /** Adds those that end inside the string and after which the budget suffices; `anew`: whatever `into` holds is to go. */
  fill(into: Uint32Array, place: StringPlace, rest: Rest, anew: boolean): void {
    const far = this.#unlimited(place)
    // No token meets the limit: what is learned of one place holds for all that differ by their lengths.
    const frame = far !== undefined && far.room >= this.#vocabulary.tallest ? far.frame : place
    if (isFew(frame)) this.#fillFew(into, frame, rest, anew)
    else if (this.#isWide(frame, rest)) this.#fillWide(into, frame, anew)
    else {
      if (anew) into.fill(0)
      this.#narrow(into, frame, rest)
    }
  }

  #unlimited(place: StringPlace): ReturnType<TextFrame['unlimited']> {
    return place instanceof TextFrame ? place.unlimited(this.#vocabulary.tallest) : undefined
  }

  /** Where few characters lead on. */
  #fillFew(into: Uint32Array, frame: TextFrame, rest: Rest, anew: boolean): void {
    if (anew) into.fill(0)
    const { tries } = this.#vocabulary
    const few = getOrMake(this.#fews, frame, () => {
      this.#found.clear()
      for (const trie of tries) this.#fewWalk.run(trie, frame, {})
      return { tokens: this.#found.tokens(), longest: this.#found.longest }
    })
    if (suffices(few.longest, rest)) {
      setTokens(into, few.tokens)
      return
    }
    this.#found.begin(into)
    for (const trie of tries) this.#fewWalk.run(trie, frame, { rest })
  }

  /** Whether the budget suffices after any of them. */
  #isWide(frame: StringPlace, rest: Rest): boolean {
    if (rest.budget === Infinity) return true
    if (suffices(Math.min(longestFrom(frame), this.#longests.get(frame) ?? Infinity), rest)) return true
    const reached = this.#reached.get(frame)
    return reached !== undefined && [...reached].every((place) => isAffordable(place, rest))
  }

  #fillWide(into: Uint32Array, frame: StringPlace, anew: boolean): void {
    const { leaving, room, needed } = frame.class
    if (leaving === ALL_PASS && (needed !== undefined || room >= this.#vocabulary.tallest)) {
      const words = this.#levels.mask(room)
      // Most masks are little else: copying takes a third of the time of adding.
      if (anew) into.set(words)
      else setWords(into, words)
      return
    }
    const far = this.#unlimited(frame)
    if (far !== undefined) {
      // What may come anywhere, as far as there is room for it.
      const words = this.#levels.mask(far.room)
      this.#fillWide(this.#scratch, far.frame, true)
      if (anew) into.fill(0)
      for (let i = 0; i < into.length; i++) into[i]! |= this.#scratch[i]! & words[i]!
      return
    }
    const inside = this.#inside(frame)
    if ('dead' in inside) {
      setAllBut(into, this.#levels.mask(Infinity), inside.dead, anew)
      return
    }
    const { plain, tokens } = inside
    const some = plain.leaving !== NONE_PASS
    if (some) {
      const words = this.#vocabulary.plainMask(plain.leaving, plain.room, true)
      if (anew) into.set(words)
      else setWords(into, words)
    }
    if (anew) into.fill(0, some ? this.#vocabulary.words : 0)
    setTokens(into, tokens)
  }

  #inside(frame: StringPlace): Inside {
    return getOrMake(this.#insides, frame.class, () => {
      const text = frame instanceof TextFrame ? frame : undefined
      const { tries, words, whole, cut, quoted } = this.#vocabulary
      const nodes = text === undefined ? Infinity : FEW_NODES
      const most = mostLead(frame)
      const lead = this.#levels.mask(Infinity)
      const dead = most ? this.#deadEnds.from(tries, frame, lead, { tokens: words, nodes }) : undefined
      if (dead !== undefined) return { dead }
      const roams = text === undefined ? undefined : roamingMore(text)
      const plain = roams ?? { leaving: frame.class.leaving | SPECIAL, room: frame.class.room }
      const options = { skip: plain.leaving, skipRoom: roams?.room ?? skipRoom(frame), cut: true }
      this.#found.clear()
      const few = !(most && text) && this.#walk.run(whole, frame, { ...options, ...(text && { most: nodes }) })
      if (!few) this.#found.clear()
      const characters = !few && this.#characters.all(text!)
      for (const trie of [cut, quoted, ...(characters ? [this.#escaped] : few ? [] : [whole])]) {
        this.#walk.run(trie, frame, options)
      }
      return { plain, tokens: this.#found.tokens() }
    })
  }

  /** The tokens that close the string. */
  closers(frame: StringPlace): CloserList {
    const { needed, room } = frame.class
    if (needed !== undefined) return this.#levels.closers(needed, room)
    let closers = this.#closers.get(frame)
    if (closers === undefined) {
      this.#found.clear()
      const options = { skip: NONE_PASS, skipRoom: Infinity, cut: true, closers: this.#closersFound }
      const { quoted } = this.#vocabulary
      if (isFew(frame)) this.#fewWalk.run(quoted, frame, options)
      else this.#walk.run(quoted, frame, options)
      closers = this.#closersFound.take()
      this.#closers.set(frame, closers)
    }
    return closers
  }

  /** With a budget that restricts: nothing to be kept. */
  #narrow(into: Uint32Array, frame: StringPlace, rest: Rest): void {
    this.#found.begin(into)
    if (frame.class.needed !== undefined) this.#narrowLevel(into, frame.base, frame.class.needed, rest)
    else this.#narrowOther(into, frame, rest)
  }

  /** Where only their number matters, each number of characters is asked about once. */
  #narrowLevel(into: Uint32Array, frame: CharacterFrame, needed: number, rest: Rest): void {
    const places: CharacterFrame[] = [frame]
    const { budget, below, costs } = rest
    const placeAfter = (characters: number): CharacterFrame | undefined => {
      // Past the least length all places close alike.
      const wanted = Math.min(characters, Math.max(needed, 1))
      while (places.length <= wanted) places.push(places[places.length - 1]!.after(LETTER) as CharacterFrame)
      return places[wanted]
    }
    const known = new Map<CharacterFrame, boolean>()
    this.#levels.addBetween(into, frame.class.room, (characters) => {
      const place = placeAfter(characters)!
      let admits = known.get(place)
      if (admits === undefined) {
        admits = place.length + below.length <= budget || costs.ofCell(below.push(place)) <= budget
        known.set(place, admits)
      }
      return admits
    })
    this.#walk.run(this.#levels.within, frame, { rest, skip: NONE_PASS, skipRoom: Infinity, cut: true })
  }

  #narrowOther(into: Uint32Array, frame: StringPlace, rest: Rest): void {
    const reached = { places: new Set<StringPlace>(), all: true, longest: 0 }
    this.#ask(into, frame, rest, reached)
    this.#longests.set(frame, reached.longest)
    if (reached.all) this.#reached.set(frame, reached.places)
  }

  /** Each token, or all that lead to the same at once. */
  #ask(into: Uint32Array, frame: StringPlace, rest: Rest, reached: Reached): void {
    const { whole, cut, quoted } = this.#vocabulary
    const { room, end } = frame.class
    const leaving = frame.class.leaving | SPECIAL
    const text = frame instanceof TextFrame ? frame : undefined
    const plain = (admitted: boolean | undefined, alsoCut: boolean): number => {
      if (admitted) setWords(into, this.#vocabulary.plainMask(leaving, room, alsoCut))
      return admitted === undefined ? NONE_PASS : leaving
    }
    const all = { rest, reached, skip: NONE_PASS, skipRoom: skipRoom(frame) }
    if (text?.home.text.endsAnywhere(text.state)) {
      // After every character the same is left: the quote, and what stands behind it.
      if (isAffordable(frame, rest)) this.#addBetween(into, frame)
      reach(reached, frame)
      this.#walk.run(this.#levels.within, frame, { ...all, cut: true })
      return
    }
    this.#walk.run(quoted, frame, { ...all, cut: true })
    if (leaving === NONE_PASS) {
      if (text !== undefined) this.#askWhole(into, text, all, true)
      else if (frame.base instanceof TextFrame || !this.#addLeading(into, frame, whole, rest, reached))
        this.#walk.run(whole, frame, { ...all, cut: false })
      this.#walk.run(cut, frame, { ...all, cut: true })
      return
    }
    // Where the way is short enough even after a character cut off, it is for all.
    const admitsCut = this.#walk.admits(frame, { ...all, cut: true })
    const admitsWhole = admitsCut ?? this.#walk.admits(frame, { ...all, cut: false })
    const skip = plain(admitsWhole, admitsCut === true)
    // Where the way to the end differs from token to token, none of their subtrees can be taken or left out as a whole;
    // and a place that is asked about again is worth knowing where each leads.
    const each = (skip === NONE_PASS && end !== 'same') || this.#longests.get(frame) !== undefined
    if (text !== undefined) this.#askWhole(into, text, { ...all, skip }, each)
    else if (!each || !this.#addLeading(into, frame, whole, rest, reached)) {
      this.#walk.run(whole, frame, { ...all, skip, cut: false })
    }
    this.#walk.run(cut, frame, { ...all, skip: admitsCut ? leaving : NONE_PASS, cut: true })
  }

  /**
   * Of a text: one by one where that is soon done, else by their characters. It is not where most lead on and `each` must be
   * looked at, nor likely where it was not at another place of the text.
   */
  #askWhole(into: Uint32Array, frame: TextFrame, { reached, ...all }: BudgetWalk, each: boolean): void {
    const { whole } = this.#vocabulary
    const long = (each || this.#long.has(frame.home.text)) && mostLead(frame)
    if (this.#characters.known(frame) === undefined && !long) {
      const few = { places: new Set<StringPlace>(), all: true, longest: 0 }
      if (this.#walk.run(whole, frame, { ...all, cut: false, reached: few, most: FEW_NODES })) {
        for (const place of few.places) reached.places.add(place)
        reached.all &&= few.all
        reached.longest = Math.max(reached.longest, few.longest)
        return
      }
      this.#long.add(frame.home.text)
    }
    const leading = this.#characters.from(frame)
    if (leading === undefined) {
      this.#walk.run(whole, frame, { ...all, cut: false, reached })
      return
    }
    const admitted = new Uint8Array(leading.states.length)
    leading.states.forEach((state, number) => {
      if (state === NOWHERE) return
      const first = leading.alike[number]!
      if (first < number) {
        admitted[number] = admitted[first]!
        return
      }
      const place = frame.home.at(state)
      reach(reached, place)
      if (isAffordable(place, all.rest)) admitted[number] = 1
    })
    this.#characters.add(into, leading, admitted)
    this.#walk.run(this.#escaped, frame, { ...all, cut: false, reached })
  }

  /** Those that end between two characters, whatever the budget. */
  #addBetween(into: Uint32Array, frame: StringPlace): void {
    const { between } = this.#levels
    const inside = new Uint32Array(into.length)
    this.#fillWide(inside, frame, true)
    for (let i = 0; i < into.length; i++) into[i]! |= inside[i]! & between[i]!
    // What was learned on the way was found into another mask.
    this.#found.begin(into)
  }

  /** By the places that they lead to, each asked about once. False: there are too many. */
  #addLeading(into: Uint32Array, frame: StringPlace, trie: Trie, rest: Rest, reached: Reached): boolean {
    const leading = this.#places.from(frame, trie)
    if (leading === undefined) return false
    const { tokens, from } = leading
    leading.places.forEach((place, i) => {
      reach(reached, place)
      if (!isAffordable(place, rest)) return
      for (let at = from[i]!; at < from[i + 1]!; at++) into[tokens[at]! >> 5]! |= 1 << (tokens[at]! & 31)
    })
    return true
  }
}

/** Whether a way of so many bytes to the end of the string can be gone. Tokens are counted where bytes do not tell. */
function suffices(longest: number, rest: Rest): boolean {
  return longest + rest.below.length <= rest.budget || longest + behindOf(rest) <= rest.budget
}

const LETTER = 0x61
const QUOTE = 0x22
const [SPACE, DELETE] = [0x20, 0x7f]

/** Whether most letters, digits and signs lead on from here: elsewhere there are too many dead ends to look for. */
function mostLead(frame: StringPlace): boolean {
  let leads = 0
  for (let byte = SPACE; byte < DELETE; byte++) if (byte !== QUOTE && frame.move(byte) !== null) leads++
  return 2 * leads > DELETE - SPACE
}

/** All tokens that may come in any string but those of `dead`; the bits that are set already stay, but where all begins `anew`. */
function setAllBut(into: Uint32Array, all: Uint32Array, dead: Int32Array, anew: boolean): void {
  if (anew) {
    into.set(all)
    for (const token of dead) into[token >> 5]! &= ~(1 << (token & 31))
    return
  }
  const before = dead.filter((token) => (into[token >> 5]! & (1 << (token & 31))) === 0)
  setWords(into, all)
  for (const token of before) into[token >> 5]! &= ~(1 << (token & 31))
}

/** Where one character more than there is room for is not allowed, no longer token needs a look. */
function skipRoom({ class: { leaving, room } }: StringPlace): number {
  return leaving === ALL_PASS ? room : Infinity
}

/** Between two characters of a text from whose places few characters lead on. */
function isFew(frame: StringPlace): frame is TextFrame {
  return frame instanceof TextFrame && frame.home.text.sparse
}

/** No way to the end is longer, whatever comes before the closing quote. */
function longestFrom({ base }: StringPlace): number {
  return (base.class.needed !== undefined ? base.length : base.longest) + MOST_LEFT
}

/** Kinds that lead from place to place but may go on, if they are more than those that lead back here. */
function roamingMore({ home, state, class: { leaving, room } }: TextFrame): Passing | undefined {
  const found = leaving === ALL_PASS ? undefined : roaming(home.text, state)
  return found && (room < found.room || (leaving & ~found.leaving) !== 0) ? found : undefined
}
