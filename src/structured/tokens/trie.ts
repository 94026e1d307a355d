/** A prefix tree over token texts in flat arrays, children of a node next to each other and sorted by byte. */
export class Trie {
  /** The byte that leads to a node. */
  readonly bytes: Uint8Array
  /** The children of node `i` are `first[i]` up to `first[i + 1]`. */
  readonly first: Uint32Array
  /** The token that ends at a node; -1 if none does. */
  readonly tokens: Int32Array

  constructor(bytes: Uint8Array, first: Uint32Array, tokens: Int32Array) {
    this.bytes = bytes
    this.first = first
    this.tokens = tokens
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

  /** The length of the longest text. */
  get depth(): number {
    let depth = -1
    for (let start = 0, end = 1; start < end; depth++) [start, end] = [end, this.first[end]!]
    return depth
  }

  /** `texts` sorted, each different and not empty, `ids[i]` the token of the i-th. */
  static build(texts: readonly string[], ids: readonly number[]): Trie {
    const most = texts.reduce((sum, text) => sum + text.length, 1)
    const bytes = new Uint8Array(most)
    const first = new Uint32Array(most + 1)
    const tokens = new Int32Array(most).fill(-1)
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
        if (depth > 0 && texts[at]!.length === depth) tokens[node] = ids[at++]!
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
    return new Trie(bytes.slice(0, nodes), first.slice(0, nodes + 1), tokens.slice(0, nodes))
  }
}
