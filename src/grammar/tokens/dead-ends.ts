import { KIND, SPECIAL } from '../automata/kinds.js'
import { CharacterFrame, type StringPlace } from '../automaton/characters.js'
import type { StringClass } from '../automaton/content.js'
import type { Found } from './found.js'
import { heightLimit, type Trie } from './trie.js'

const QUOTE = 0x22
/** Where one byte leads: not asked yet, out of the string, nowhere; else to the place of this number. */
const UNKNOWN = 0
const CLOSES = -1
const DEAD = -2

/**
 * Finds the tokens that lead nowhere from a place in a string from which nearly all lead on. It looks only where some
 * character may lead nowhere, and adds none of those that lead on: between the words of several patterns that takes a
 * fraction of the time of finding what may come.
 */
export class DeadEnds {
  readonly #found: Found
  /** By place and byte. */
  #rows = new Int32Array(0)
  #places: StringPlace[] = []
  #known = new Map<StringClass, number>()
  #free: number[] = []
  #leaving: number[] = []
  #room: number[] = []
  #dead: number[] = []
  #most = 0
  /** Nodes that may still be followed. */
  #left = 0

  constructor(found: Found) {
    this.#found = found
  }

  /** Those of `among`; undefined where they are more than `most`, or take more than so many nodes to be found. */
  from(
    tries: readonly Trie[],
    frame: StringPlace,
    among: Uint32Array,
    most: { readonly tokens: number; readonly nodes: number },
  ): Int32Array | undefined {
    this.#dead = []
    this.#most = most.tokens
    this.#left = most.nodes
    const start = this.#at(frame)
    const few = tries.every((trie) => this.#visit(trie, 0, trie.tokens.length, start, among))
    const dead = few ? Int32Array.from(this.#dead) : undefined
    this.#forget()
    return dead
  }

  /** Places of one grammar are not held on to. */
  #forget(): void {
    this.#rows.fill(UNKNOWN, 0, (this.#places.length + 1) << 8)
    this.#places = []
    this.#known = new Map()
    this.#free = []
    this.#leaving = []
    this.#room = []
    this.#dead = []
  }

  /** False where there are too many. */
  #visit(trie: Trie, node: number, to: number, place: number, among: Uint32Array): boolean {
    const { first, bytes, from, kinds, heights, tokens } = trie
    const free = this.#free[place]!
    const leaving = this.#leaving[place]!
    const room = this.#room[place]!
    const last = first[node + 1]!
    for (let child = first[node]!; child < last; child++) {
      const byte = bytes[child]!
      const height = heights[child]!
      if (height <= free || (((KIND[byte]! | kinds[child]!) & leaving) === 0 && height <= room)) continue
      this.#found.followed++
      if (--this.#left < 0) return false
      const known = this.#rows[(place << 8) | byte]!
      const next = known === UNKNOWN ? this.#step(place, byte) : known
      if (next === CLOSES) continue
      const leaf = first[child] === first[child + 1]
      if (leaf && next !== DEAD) continue
      const end = child + 1 < last ? from[child + 1]! : to
      if (next !== DEAD) {
        if (!this.#visit(trie, child, end, next, among)) return false
        continue
      }
      for (let i = from[child]!; i < end; i++) {
        const token = tokens[i]!
        if ((among[token >> 5]! & (1 << (token & 31))) === 0) continue
        // Here and not behind the loop: below a space there is half of the vocabulary.
        if (this.#dead.length === this.#most) return false
        this.#dead.push(token)
        this.#found.followed++
      }
    }
    return true
  }

  #step(place: number, byte: number): number {
    const frame = this.#places[place - 1]!
    const next =
      byte === QUOTE && frame instanceof CharacterFrame ? undefined : (frame.move(byte) as StringPlace | null)
    const found = next === undefined ? CLOSES : next === null ? DEAD : this.#at(next)
    this.#rows[(place << 8) | byte] = found
    return found
  }

  #at(frame: StringPlace): number {
    const cls = frame.class
    let place = this.#known.get(cls)
    if (place === undefined) {
      place = this.#places.push(frame)
      this.#known.set(cls, place)
      this.#free[place] = heightLimit(cls.free)
      this.#leaving[place] = cls.leaving | SPECIAL
      this.#room[place] = heightLimit(cls.room)
      if ((place + 1) << 8 > this.#rows.length) this.#grow()
    }
    return place
  }

  #grow(): void {
    const rows = new Int32Array(Math.max(64 << 8, 2 * this.#rows.length))
    rows.set(this.#rows)
    this.#rows = rows
  }
}
