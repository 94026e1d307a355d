import type { StringPlace } from '../automaton/characters.js'
import type { TextFrame, TextFrames } from '../automaton/text.js'
import { encoded } from '../values/text-length.js'
import type { ClosersFound } from './closers.js'
import type { Found } from './found.js'
import { behindOf, isAffordable, type Rest } from './string-walk.js'
import type { Trie } from './trie.js'

const QUOTE = 0x22

/** Whose tokens are asked for: those that end inside the string, with those after which a budget suffices, or those that close it. */
export interface FewWalkOptions {
  /** Absent: whatever the budget. */
  readonly rest?: Rest
  /** Takes the tokens that close the string; the others are then left out. */
  readonly closers?: ClosersFound
}

/**
 * Walks a trie from a place in a string from which few characters lead on, by these characters: a text's own stretches are
 * a few of the ways through a vocabulary, and no place on them is kept.
 */
export class FewWalk {
  readonly #found: Found
  #trie!: Trie
  #home!: TextFrames
  #options: FewWalkOptions = {}
  /** By state, where the budget is looked at. */
  #affordable = new Map<number, boolean>()
  /** What suffices behind the string, in tokens. */
  #behind = 0

  constructor(found: Found) {
    this.#found = found
  }

  run(trie: Trie, { home, state }: TextFrame, options: FewWalkOptions): void {
    const { rest } = options
    this.#trie = trie
    this.#home = home
    this.#options = options
    this.#affordable = new Map()
    this.#behind = rest === undefined ? 0 : behindOf(rest)
    this.#visit(0, trie.tokens.length, state)
  }

  #visit(node: number, to: number, state: number): void {
    const { text } = this.#home
    const { closers } = this.#options
    if (closers !== undefined && text.accepts(state)) {
      const child = this.#trie.child(node, QUOTE)
      if (child !== 0) closers.add(this.#home.at(state), this.#trie, child, this.#endOf(child, node, to))
    }
    text.each?.(state, (codePoint, next) => this.#follow(node, to, state, encoded(codePoint), next))
  }

  /** The bytes of one character. */
  #follow(node: number, to: number, state: number, bytes: string, next: number): void {
    const { first, from } = this.#trie
    let at = node
    let end = to
    for (let i = 0; i < bytes.length; i++) {
      const child = this.#trie.child(at, bytes.charCodeAt(i))
      if (child === 0) return
      this.#found.followed++
      end = this.#endOf(child, at, end)
      at = child
      const below = first[child] === first[child + 1] ? end : from[first[child]!]!
      if (from[child]! < below) {
        const whole = i + 1 === bytes.length
        this.#take(
          from[child]!,
          below,
          whole ? next : state,
          whole ? '' : bytes.slice(0, i + 1),
          bytes.length - i - 1 + this.#home.length(next),
        )
      }
      if (below === end) return
    }
    this.#visit(at, end, next)
  }

  #endOf(child: number, node: number, to: number): number {
    const { first, from } = this.#trie
    return child + 1 < first[node + 1]! ? from[child + 1]! : to
  }

  /** Tokens that lead to a state, and so many bytes further; `length`: of the shortest way from there. */
  #take(from: number, to: number, state: number, begun: string, length: number): void {
    const { rest, closers } = this.#options
    if (closers !== undefined) return
    this.#found.longest = Math.max(this.#found.longest, length)
    if (rest === undefined || this.#suffices(rest, state, begun, length)) this.#found.add(this.#trie.tokens, from, to)
  }

  #suffices(rest: Rest, state: number, begun: string, length: number): boolean {
    // Every byte is at most one token.
    if (length + this.#behind <= rest.budget) return true
    const known = begun === '' ? this.#affordable.get(state) : undefined
    if (known !== undefined) return known
    let place: StringPlace = this.#home.at(state)
    for (let i = 0; i < begun.length; i++) place = place.move(begun.charCodeAt(i)) as StringPlace
    const affordable = isAffordable(place, rest)
    if (begun === '') this.#affordable.set(state, affordable)
    return affordable
  }
}
