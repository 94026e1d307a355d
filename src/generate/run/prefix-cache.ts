import type { Sequence } from '../../contract/index.js'
import { commonLength } from '../../grammar/index.js'

/** Whether a sequence may hold the beginning of a text of so many tokens. */
export function serves({ lengths }: Sequence, length: number): boolean {
  return lengths === undefined || (length >= lengths[0] && length <= lengths[1])
}

/** What `sequence`, which began as `held`, has in common with `tokens` and can be cut to. It may have lost tokens since. */
export function shared(sequence: Sequence, held: readonly number[], tokens: readonly number[], limit: number): number {
  if (!serves(sequence, tokens.length)) return 0
  const common = commonLength(held, tokens, Math.min(limit, sequence.length))
  return sequence.reach?.(common) ?? common
}

interface Entry {
  readonly tokens: readonly number[]
  readonly sequence: Sequence
}

/** Sequences of finished answers, kept while there is room: the next turn of a conversation begins with one of them. */
export class PrefixCache {
  /** Least recently used first. */
  #entries: Entry[] = []
  readonly #limit: number

  constructor(limit: number) {
    this.#limit = limit
  }

  get size(): number {
    return this.#entries.length
  }

  /** How many leading tokens of `tokens`, of `limit` at most, some entry can be cut to. */
  longest(tokens: readonly number[], limit: number): number {
    return this.#entries.reduce((best, { sequence, tokens: held }) => {
      return Math.max(best, shared(sequence, held, tokens, limit))
    }, 0)
  }

  /**
   * A sequence with the longest common prefix, at most `limit` tokens of it. With `share` the entry stays for others
   * wherever it holds more than was asked for; used is only what is common to both for its most part: prompts that begin
   * with the same few words would else keep each other's whole texts, instead of those that are asked for again.
   */
  take(tokens: readonly number[], limit: number, share: boolean): Sequence | undefined {
    let best = -1
    let length = 0
    this.#entries.forEach((entry, i) => {
      const common = shared(entry.sequence, entry.tokens, tokens, limit)
      if (common > length) {
        best = i
        length = common
      }
    })
    if (best < 0) return undefined
    const entry = this.#entries[best]!
    const { sequence } = entry
    if (share && sequence.length > length) {
      if (2 * length >= sequence.length) this.#entries.push(...this.#entries.splice(best, 1))
      const copy = sequence.clone()
      copy.truncate(length)
      return copy
    }
    this.#entries.splice(best, 1)
    sequence.truncate(length)
    return sequence
  }

  /** Keeps a sequence. What it makes superfluous, and what no longer finds a place, is closed. */
  put(tokens: readonly number[], sequence: Sequence): void {
    const covered = (entry: Entry) => commonLength(entry.tokens, tokens) === entry.tokens.length
    for (const entry of this.#entries.filter(covered)) entry.sequence.close()
    this.#entries = this.#entries.filter((entry) => !covered(entry))
    this.#entries.push({ tokens, sequence })
    while (this.#entries.length > this.#limit) this.evict()
  }

  /** Closes the entry that was not used longest; false if there is none. */
  evict(): boolean {
    const entry = this.#entries.shift()
    entry?.sequence.close()
    return entry !== undefined
  }

  clear(): void {
    while (this.evict()) {
      // All of them.
    }
  }
}
