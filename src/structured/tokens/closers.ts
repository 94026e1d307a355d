import type { CharacterFrame } from '../automaton/characters.js'
import type { Trie } from './trie.js'

/** Tokens that close a string from one place, by what they hold behind the closing quote. */
export interface Closers {
  /** The place before the quote; undefined: any in the same text. */
  readonly frame: CharacterFrame | undefined
  /** The quote itself has led to each of these nodes. */
  readonly trie: Trie
  readonly nodes: readonly number[]
  /** For each node where its tokens end. */
  readonly ends: readonly number[]
}

/** Collects them. */
export class ClosersFound {
  #found = new Map<CharacterFrame | undefined, { trie: Trie; nodes: number[]; ends: number[] }>()

  add(frame: CharacterFrame, trie: Trie, node: number, end: number): void {
    const place = frame.text ? undefined : frame
    let found = this.#found.get(place)
    if (found === undefined) {
      found = { trie, nodes: [], ends: [] }
      this.#found.set(place, found)
    }
    found.nodes.push(node)
    found.ends.push(end)
  }

  take(): readonly Closers[] {
    const closers = [...this.#found].map(([frame, found]) => ({ frame, ...found }))
    this.#found = new Map()
    return closers
  }
}
