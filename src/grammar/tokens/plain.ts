import { KIND } from '../automata/kinds.js'
import { TALL, type Trie } from './trie.js'
import { MALFORMED, UTF8 } from './utf8.js'

/**
 * Sets the bits of all tokens with at most `room` characters (see `roomOf`), none of them of the kinds `leaving`; the
 * last one may be cut off.
 */
export function fillPlain(mask: Uint32Array, trie: Trie, leaving: number, room: number): void {
  const { first, bytes, from, kinds, heights, tokens } = trie
  const set = (start: number, end: number) => {
    for (let i = start; i < end; i++) mask[tokens[i]! >> 5]! |= 1 << (tokens[i]! & 31)
  }
  const visit = (node: number, to: number, place: number, left: number) => {
    const last = first[node + 1]!
    for (let child = first[node]!; child < last; child++) {
      const byte = bytes[child]!
      const next = UTF8[(place << 8) | byte]!
      const own = place === 0 ? KIND[byte]! : 0
      const more = place === 0 ? left - 1 : left
      if (next === MALFORMED || (own & leaving) !== 0 || more < 0) continue
      const end = child + 1 < last ? from[child + 1]! : to
      if (place === 0 && (kinds[child]! & leaving) === 0 && heights[child]! <= left) {
        set(from[child]!, end)
        continue
      }
      const below = first[child] === first[child + 1] ? end : from[first[child]!]!
      set(from[child]!, below)
      if (below < end) visit(child, end, next, more)
    }
  }
  visit(0, tokens.length, 0, room)
}

/** A limit that heights compare with: those that are not told apart fit only where there is none. */
export function roomOf(room: number): number {
  return room === Infinity ? UNLIMITED : Math.min(room, MOST)
}

const MOST = TALL - 1
const UNLIMITED = 1 << 20
