import type { Begun } from '../automaton/used-items.js'
import type { Trie } from './trie.js'

/** The tokens with which an item may go on as one does that has come: they end on its way, or behind its end. */
export function tokensAlike(tries: readonly Trie[], from: Begun): number[] {
  const found: number[] = []
  for (const trie of tries) visit(trie, 0, trie.tokens.length, from, found)
  return found
}

function visit(trie: Trie, node: number, to: number, at: Begun, found: number[]): void {
  const { first, from, tokens } = trie
  for (const [byte, next] of at.children) {
    const child = trie.child(node, byte)
    if (child === 0) continue
    const end = child + 1 < first[node + 1]! ? from[child + 1]! : to
    const own = next.used || first[child] === first[child + 1] ? end : from[first[child]!]!
    for (let i = from[child]!; i < own; i++) found.push(tokens[i]!)
    if (!next.used) visit(trie, child, end, next, found)
  }
}
