import type { Sequence, TokenModel } from '../../contract/index.js'
import { commonLength } from '../../platform/index.js'
import type { Lane } from '../answer/lane.js'
import type { Row } from './batch.js'

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
  readonly #entries: Entry[] = []
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
    for (const [i, entry] of this.#entries.entries()) {
      const common = shared(entry.sequence, entry.tokens, tokens, limit)
      if (common <= length) continue
      best = i
      length = common
    }
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
    for (const entry of this.#entries.splice(0)) {
      if (commonLength(entry.tokens, tokens) === entry.tokens.length) entry.sequence.close()
      else this.#entries.push(entry)
    }
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

/** Finished sequences that are kept; room is what really limits them. */
const ENTRIES = 32

/** Steps in a row for which kept sequences give way. */
const FEW = 4

/** Whoever has a sequence, and the tokens that it began with. */
interface Holder {
  readonly lane: { readonly tokens: readonly number[] }
  readonly sequence: Sequence | undefined
}

/** The model's cache as the scheduler uses it: sequences with a prefix already in them, and room for more. */
export class Memory {
  readonly #model: TokenModel
  readonly #cache: PrefixCache
  /** Cloning is for models that hold several sequences at once: for others it costs a whole prompt. */
  readonly #copies: boolean
  /** An equal part of the cache for each that may run beside the others, in tokens. */
  readonly share: number

  constructor(model: TokenModel) {
    this.#model = model
    this.#copies = model.maxBatch > 1
    this.#cache = new PrefixCache(this.#copies ? ENTRIES : 1)
    this.share = model.freeTokens / model.maxBatch
  }

  /** A sequence that begins like `lane.tokens`, all but the last token of it at most; of what is to be scored, nothing. */
  acquire(lane: Pick<Lane, 'tokens' | 'scores' | 'pieces'>, running: readonly Holder[]): Sequence {
    const { tokens, scores, pieces } = lane
    const most = scores?.open ? scores.scored : tokens.length - 1
    const others = this.#copies ? running : []
    // How much of these tokens somebody has read, in whole pieces.
    const limit = pieces
      ? pieces.floor(Math.max(longestLive(tokens, most, others)?.length ?? 0, this.#cache.longest(tokens, most)))
      : most
    const live = longestLive(tokens, limit, others)
    if (live !== undefined && live.length > this.#cache.longest(tokens, limit)) {
      const copy = live.sequence.clone()
      copy.truncate(live.length)
      return copy
    }
    return this.#cache.take(tokens, limit, this.#copies) ?? this.#model.open(tokens.length)
  }

  keep(tokens: readonly number[], sequence: Sequence): void {
    if (sequence.length === 0) sequence.close()
    else this.#cache.put(tokens.slice(0, sequence.length), sequence)
  }

  /** Makes room for `tokens` more by forgetting what nobody uses. */
  makeRoom(tokens: number): boolean {
    while (this.#model.freeTokens < tokens) if (!this.#cache.evict()) return false
    return true
  }

  /** Makes room for a step, and for `more` tokens of each of its rows. */
  roomFor(rows: readonly Row[], more = 0): boolean {
    return this.makeRoom(this.#needed(rows, more))
  }

  /** How many steps there is room for, up to so many; nothing that is kept has to go for more than a few. */
  stepsFor(rows: readonly Row[], most: number): number {
    const few = Math.min(most, FEW)
    for (let steps = most; steps > few; steps >>= 1) {
      if (this.#needed(rows, steps - 1) <= this.#model.freeTokens) return steps
    }
    return few > 1 && this.roomFor(rows, few - 1) ? few : 1
  }

  #needed(rows: readonly Row[], more: number): number {
    let tokens = 0
    for (const { slot, count } of rows) tokens += this.cost(slot.sequence, count + more)
    return tokens
  }

  /** What appending to a sequence takes from `freeTokens`, in whole pages. */
  cost(sequence: Sequence | undefined, tokens: number): number {
    const page = this.#model.pageTokens ?? 1
    const length = sequence?.length ?? 0
    return (Math.ceil((length + tokens) / page) - Math.floor(length / page)) * page
  }

  clear(): void {
    this.#cache.clear()
  }
}

function longestLive(tokens: readonly number[], limit: number, running: readonly Holder[]) {
  let best: { sequence: Sequence; length: number } | undefined
  for (const { lane, sequence } of running) {
    if (sequence === undefined) continue
    const length = shared(sequence, lane.tokens, tokens, limit)
    if (length > (best?.length ?? 0)) best = { sequence, length }
  }
  return best
}
