import { getOrMake } from '../../platform/index.js'
import { ANY_TEXT } from '../automata/sets.js'
import type { CharacterFrame } from '../automaton/characters.js'
import type { Frame } from '../automaton/frame.js'
import { TextFrames } from '../automaton/text.js'
import { ENTRY_BYTES, Kept } from '../kept.js'
import { type CloserList, closerList } from './closers.js'
import { setWords } from './found.js'
import { type Trie, trieOf } from './trie.js'
import type { Vocabulary } from './vocabulary.js'

const QUOTE = 0x22
/** Of a token that ends between two characters. */
const BETWEEN = 1
/** Masks kept, of 19 KB each for a vocabulary of 152,000; and tries of those that close. */
const KEPT = 96

/**
 * The tokens for places where any characters may come, learned once for a vocabulary: of such places only the limits on
 * length differ, and they are kept to by how many characters each token has.
 */
export class LevelMasks {
  readonly #vocabulary: Vocabulary
  /** The tokens that end inside the string. */
  readonly #all: Uint32Array
  /** Those of them that end between two characters. */
  readonly between: Uint32Array
  /** The first by their characters, those with the most first, and behind them where fewer than `i` characters begin. */
  readonly #tall: Uint32Array
  readonly #below: Uint32Array
  /** Those of them that end inside a character or an escape. */
  readonly within: Trie
  readonly #characters: Uint16Array
  readonly #ends: Uint8Array
  readonly #most: number
  /** The tokens that close the string: their characters before the quote, and what stands behind it. */
  readonly #closing: { readonly token: number; readonly characters: number; readonly rest: string }[] = []
  readonly #mostClosing: number
  readonly #masks = new Kept<number, Uint32Array>(KEPT, (mask) => ENTRY_BYTES + mask.byteLength)
  readonly #closers = new Kept<number, CloserList>(KEPT, bytesOfOwnTries)

  constructor(vocabulary: Vocabulary) {
    this.#vocabulary = vocabulary
    this.#all = new Uint32Array(vocabulary.words)
    this.#characters = new Uint16Array(vocabulary.size)
    this.#ends = new Uint8Array(vocabulary.size)
    const within: number[] = []
    const found: number[] = []
    const start = TextFrames.of(ANY_TEXT).at(ANY_TEXT.start)
    for (const trie of vocabulary.tries) this.#visit(trie, 0, trie.tokens.length, start, start, 0, 0, found, within)
    let most = 0
    for (const token of found) most = Math.max(most, this.#characters[token]!)
    this.#most = most
    this.#below = new Uint32Array(most + 1)
    for (const token of found) this.#below[most - this.#characters[token]! + 1]!++
    for (let i = 1; i <= most; i++) this.#below[i]! += this.#below[i - 1]!
    const next = this.#below.slice()
    this.#tall = new Uint32Array(found.length)
    for (const token of found) {
      this.#all[token >> 5]! |= 1 << (token & 31)
      this.#tall[next[most - this.#characters[token]!]!++] = token
    }
    this.between = this.#all.slice()
    for (const token of within) this.between[token >> 5]! &= ~(1 << (token & 31))
    this.within = trieOf(
      within,
      within.map((token) => String.fromCharCode(...vocabulary.bytes(token))),
    )
    this.#mostClosing = this.#closing.reduce((most, { characters }) => Math.max(most, characters), 0)
  }

  /** `base` is where every character leads back, `at` so many bytes into a token the place, after so many characters. */
  #visit(
    trie: Trie,
    node: number,
    to: number,
    base: CharacterFrame,
    place: Frame,
    at: number,
    characters: number,
    found: number[],
    within: number[],
  ): void {
    const { first, bytes, from, tokens } = trie
    const last = first[node + 1]!
    for (let child = first[node]!; child < last; child++) {
      const end = child + 1 < last ? from[child + 1]! : to
      const byte = bytes[child]!
      if (place === base && byte === QUOTE) {
        for (let i = from[child]!; i < end; i++) {
          const rest = String.fromCharCode(...this.#vocabulary.bytes(tokens[i]!).subarray(at + 1))
          this.#closing.push({ token: tokens[i]!, characters, rest })
        }
        continue
      }
      const next = place.move(byte)
      if (!next) continue
      const begun = place === base ? characters + 1 : characters
      const below = first[child] === first[child + 1] ? end : from[first[child]!]!
      for (let i = from[child]!; i < below; i++) {
        this.#characters[tokens[i]!] = begun
        found.push(tokens[i]!)
        if (next === base) this.#ends[tokens[i]!] = BETWEEN
        else within.push(tokens[i]!)
      }
      if (below < end) this.#visit(trie, child, end, base, next, at + 1, begun, found, within)
    }
  }

  /** What is kept here. */
  get bytes(): number {
    const whole = [this.#all, this.between, this.#tall, this.#below, this.#characters, this.#ends]
    const always = whole.reduce((sum, { byteLength }) => sum + byteLength, ENTRY_BYTES * this.#closing.length)
    return always + this.within.byteLength + this.#masks.bytes + this.#closers.bytes
  }

  /** The tokens of at most so many characters that end inside the string. */
  mask(room: number): Uint32Array {
    if (room >= this.#most) return this.#all
    let mask = this.#masks.get(room)
    if (mask === undefined) {
      mask = this.#all.slice()
      const end = this.#below[this.#most - room]!
      for (let i = 0; i < end; i++) mask[this.#tall[i]! >> 5]! &= ~(1 << (this.#tall[i]! & 31))
      this.#masks.set(room, mask)
    }
    return mask
  }

  /** Adds those of them that end between two characters, if so many suffice. */
  addBetween(into: Uint32Array, room: number, admits: (characters: number) => boolean): void {
    const most = Math.min(room, this.#most)
    const admitted: number[] = []
    for (let n = most; n > 0; n--) if (admits(n)) admitted.push(n)
    if (admitted.length === this.#most) setWords(into, this.between)
    else for (const n of admitted) this.#addOf(into, n)
  }

  #addOf(into: Uint32Array, characters: number): void {
    const end = this.#below[this.#most - characters + 1]!
    for (let i = this.#below[this.#most - characters]!; i < end; i++) {
      const token = this.#tall[i]!
      if (this.#ends[token] === BETWEEN) into[token >> 5]! |= 1 << (token & 31)
    }
  }

  /** The tokens that close the string, after at least `needed` and at most `room` characters. */
  closers(needed: number, room: number): CloserList {
    const least = Math.min(needed, this.#mostClosing + 1)
    const most = Math.min(room, this.#mostClosing)
    const key = least * 1024 + most
    return getOrMake(this.#closers, key, () => {
      const found = this.#closing.filter(({ characters }) => characters >= least && characters <= most)
      const trie = trieOf(
        found.map(({ token }) => token),
        found.map(({ rest }) => rest),
      )
      return closerList(found.length === 0 ? [] : [{ frame: undefined, trie, nodes: [0], ends: [found.length] }])
    })
  }
}

function bytesOfOwnTries({ closers }: CloserList): number {
  return closers.reduce((sum, { trie }) => sum + trie.byteLength, ENTRY_BYTES)
}
