import { getOrMake } from '../../platform/index.js'
import type { CharacterFrame } from '../automaton/characters.js'
import { TextFrame } from '../automaton/text.js'
import { ENTRY_BYTES } from '../kept.js'
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

let made = 0

/** All of one place. */
export interface CloserList {
  readonly id: number
  readonly closers: readonly Closers[]
}

export function closerList(closers: readonly Closers[]): CloserList {
  return { id: made++, closers }
}

export function bytesOfClosers({ closers }: CloserList): number {
  return closers.reduce((sum, { nodes }) => sum + ENTRY_BYTES + 16 * nodes.length, ENTRY_BYTES)
}

/** Collects them. */
export class ClosersFound {
  #found = new Map<CharacterFrame | undefined, { trie: Trie; nodes: number[]; ends: number[] }>()

  add(frame: CharacterFrame, trie: Trie, node: number, end: number): void {
    const place = frame instanceof TextFrame ? undefined : frame
    const found = getOrMake(this.#found, place, () => ({ trie, nodes: [], ends: [] }))
    found.nodes.push(node)
    found.ends.push(end)
  }

  take(): CloserList {
    const closers = [...this.#found].map(([frame, found]) => ({ frame, ...found }))
    this.#found = new Map()
    return closerList(closers)
  }
}
