import { getOrMake } from '../../platform/index.js'
import type { Classes } from '../automata/classes.js'
import type { Trie } from './trie.js'
import { UTF8 } from './utf8.js'

const [SPACE, QUOTE, BACKSLASH] = [0x20, 0x22, 0x5c]
const NONE = -1

/**
 * A trie as characters, those that stand in a string as they are. Made once for a vocabulary: a walk then decodes nothing.
 * Nodes are told by their numbers, those above first, and the first is where all begins.
 */
export class Letters {
  /** The node above each. */
  readonly parents: Int32Array
  /** Which character leads to each, by a number of its own. */
  readonly labels: Uint16Array
  /** The tokens that end between two characters, in the order of their nodes, and those. */
  readonly tokens: Int32Array
  readonly nodes: Int32Array
  /** By label, ascending. */
  readonly #codePoints: Int32Array
  readonly #columns = new WeakMap<Classes, Uint16Array>()

  constructor({ bytes, first, from, tokens }: Trie) {
    const count = bytes.length
    const parents = new Int32Array(count)
    const points = new Int32Array(count)
    const ended = new Int32Array(tokens.length)
    const nodes = new Int32Array(tokens.length)
    /** By the trie's node: the node here that it is, or is inside a character behind; what has come of that character. */
    const here = new Int32Array(count)
    const bits = new Int32Array(count)
    const places = new Uint8Array(count)
    const ends = new Int32Array(count)
    ends[0] = tokens.length
    let [made, found] = [1, 0]
    for (let node = 0; node < count; node++) {
      const [begin, last, end, place] = [first[node]!, first[node + 1]!, ends[node]!, places[node]!]
      for (let child = begin; child < last; child++) {
        const byte = bytes[child]!
        const next = UTF8[(place << 8) | byte]!
        ends[child] = child + 1 < last ? from[child + 1]! : end
        places[child] = next
        bits[child] = place === 0 ? lead(byte) : (bits[node]! << 6) | (byte & 0x3f)
        here[child] = here[node]!
        if (next !== 0 || here[node] === NONE) continue
        if (isNever(bits[child]!)) {
          here[child] = NONE
          continue
        }
        parents[made] = here[node]!
        points[made] = bits[child]!
        const own = first[child] === first[child + 1] ? ends[child]! : from[first[child]!]!
        for (let i = from[child]!; i < own; i++) {
          ended[found] = tokens[i]!
          nodes[found++] = made
        }
        here[child] = made++
      }
    }
    this.parents = parents.slice(0, made)
    this.tokens = ended.slice(0, found)
    this.nodes = nodes.slice(0, found)
    let greatest = 0
    for (let node = 1; node < made; node++) greatest = Math.max(greatest, points[node]!)
    const labels = new Int32Array(greatest + 1)
    for (let node = 1; node < made; node++) labels[points[node]!] = 1
    const codePoints: number[] = []
    for (let codePoint = 0; codePoint < labels.length; codePoint++) {
      if (labels[codePoint] === 1) labels[codePoint] = codePoints.push(codePoint) - 1
    }
    this.labels = Uint16Array.from(points.subarray(0, made), (codePoint) => labels[codePoint]!)
    this.#codePoints = Int32Array.from(codePoints)
  }

  get bytes(): number {
    const arrays = [this.parents, this.labels, this.tokens, this.nodes, this.#codePoints]
    return arrays.reduce((sum, { byteLength }) => sum + byteLength, 0)
  }

  /** The class of each character, by its number. */
  columns(classes: Classes): Uint16Array {
    return getOrMake(this.#columns, classes, () => {
      const { starts, ids } = classes
      const columns = new Uint16Array(this.#codePoints.length)
      for (let i = 0, interval = 0; i < columns.length; i++) {
        while (interval + 1 < starts.length && starts[interval + 1]! <= this.#codePoints[i]!) interval++
        columns[i] = ids[interval]!
      }
      return columns
    })
  }
}

function lead(byte: number): number {
  return byte < 0x80 ? byte : byte & (byte < 0xe0 ? 0x1f : byte < 0xf0 ? 0x0f : 0x07)
}

/** In a string it stands for something else, or may not stand. */
function isNever(codePoint: number): boolean {
  return codePoint < SPACE || codePoint === QUOTE || codePoint === BACKSLASH
}
