import { KIND, SPECIAL } from '../automata/kinds.js'
import { MALFORMED, UTF8 } from './utf8.js'

/** Heights from here on are not told apart. */
export const TALL = 255

/**
 * A prefix tree over token texts in flat arrays, children of a node next to each other and sorted by byte. The tokens of
 * a subtree are next to each other as well, so that a subtree can be taken as a whole.
 */
export class Trie {
  /** The byte that leads to a node. */
  readonly bytes: Uint8Array
  /** The children of node `i` are `first[i]` up to `first[i + 1]`. */
  readonly first: Uint32Array
  /** Where the tokens of a subtree begin in `tokens`, those of its root before all others. */
  readonly from: Uint32Array
  /** The kinds of the characters that begin below a node. */
  readonly kinds: Int32Array
  /** How many characters may begin from the byte that leads to a node downwards, at most. */
  readonly heights: Uint8Array
  /** Sorted by text. */
  readonly tokens: Uint32Array

  constructor(parts: Pick<Trie, 'bytes' | 'first' | 'from' | 'kinds' | 'heights' | 'tokens'>) {
    this.bytes = parts.bytes
    this.first = parts.first
    this.from = parts.from
    this.kinds = parts.kinds
    this.heights = parts.heights
    this.tokens = parts.tokens
  }

  get byteLength(): number {
    const arrays = [this.bytes, this.first, this.from, this.kinds, this.heights, this.tokens]
    return arrays.reduce((sum, { byteLength }) => sum + byteLength, 0)
  }

  /** The child by this byte; 0 if there is none. */
  child(node: number, byte: number): number {
    let low = this.first[node]!
    let high = this.first[node + 1]!
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.bytes[middle]! < byte) low = middle + 1
      else high = middle
    }
    return low < this.first[node + 1]! && this.bytes[low] === byte ? low : 0
  }

  /** The node that these bytes lead to, and where its tokens end; undefined if there is none. */
  find(text: string): { readonly node: number; readonly end: number } | undefined {
    let node = 0
    let end = this.tokens.length
    for (let i = 0; i < text.length; i++) {
      const child = this.child(node, text.charCodeAt(i))
      if (child === 0) return undefined
      if (child + 1 < this.first[node + 1]!) end = this.from[child + 1]!
      node = child
    }
    return { node, end }
  }

  /** The first of the tokens that end at a node; -1 if none does. */
  token(node: number): number {
    const child = this.first[node]!
    const ends = child === this.first[node + 1]! || this.from[child]! > this.from[node]!
    return ends && this.tokens.length > 0 ? this.tokens[this.from[node]!]! : -1
  }

  /** `texts` sorted and not empty, one character per byte; `ids[i]` is the token of the i-th. */
  static build(texts: readonly string[], ids: readonly number[]): Trie {
    const most = texts.reduce((sum, text) => sum + text.length, 1)
    const bytes = new Uint8Array(most)
    const first = new Uint32Array(most + 1)
    const from = new Uint32Array(most)
    const to = new Uint32Array(most)
    to[0] = texts.length
    let nodes = 1
    for (let depth = 0, levelStart = 0; levelStart < nodes; depth++) {
      const levelEnd = nodes
      for (let node = levelStart; node < levelEnd; node++) {
        first[node] = nodes
        const end = to[node]!
        let at = from[node]!
        while (at < end && texts[at]!.length === depth) at++
        while (at < end) {
          const byte = texts[at]!.charCodeAt(depth)
          from[nodes] = at
          while (at < end && texts[at]!.charCodeAt(depth) === byte) at++
          to[nodes] = at
          bytes[nodes++] = byte
        }
      }
      levelStart = levelEnd
    }
    first[nodes] = nodes
    const shape = { bytes: bytes.slice(0, nodes), first: first.slice(0, nodes + 1), from: from.slice(0, nodes) }
    return new Trie({ ...shape, ...contents(shape), tokens: Uint32Array.from(ids) })
  }
}

/** Of tokens in any order. */
export function trieOf(tokens: readonly number[], texts: readonly string[]): Trie {
  const order = tokens.map((_, i) => i)
  order.sort((a, b) => (texts[a]! < texts[b]! ? -1 : texts[a]! > texts[b]! ? 1 : 0))
  return Trie.build(
    order.map((i) => texts[i]!),
    order.map((i) => tokens[i]!),
  )
}

/** What lies below each node. */
function contents({ bytes, first }: Pick<Trie, 'bytes' | 'first'>): Pick<Trie, 'kinds' | 'heights'> {
  const kinds = new Int32Array(bytes.length)
  const heights = new Uint8Array(bytes.length)
  const places = new Uint8Array(bytes.length)
  // Behind what is malformed a character may begin: it may have been the end of one that began in the token before.
  const placeAt = (node: number) => (places[node] === MALFORMED ? 0 : places[node]!)
  for (let node = 0; node < bytes.length; node++) {
    const place = placeAt(node) << 8
    for (let child = first[node]!; child < first[node + 1]!; child++) places[child] = UTF8[place | bytes[child]!]!
  }
  for (let node = bytes.length - 1; node >= 0; node--) {
    const between = placeAt(node) === 0
    let tallest = 0
    for (let child = first[node]!; child < first[node + 1]!; child++) {
      const own = places[child] === MALFORMED ? SPECIAL : between ? KIND[bytes[child]!]! : 0
      kinds[node]! |= kinds[child]! | own
      heights[child] = Math.min(TALL, heights[child]! + (between ? 1 : 0))
      tallest = Math.max(tallest, heights[child]!)
    }
    heights[node] = tallest
  }
  return { kinds, heights }
}

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
export function heightLimit(room: number): number {
  return room === Infinity ? UNLIMITED : Math.min(room, MOST)
}

const MOST = TALL - 1
const UNLIMITED = 1 << 20
