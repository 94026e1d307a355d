/** The lanes of a decision: the state once, each question behind it, and the rest of its options. */

import type { Sampled, SampleSettings } from '../../contract/index.js'
import type { LanePieces, LaneScores } from '../answer/lane.js'
import { ReadingLane } from '../answer/reading-lane.js'
import { GREEDY } from '../answer/sampling.js'
import type { Rows } from './rows.js'
import type { OptionTrie, Walk } from './trie.js'

const greedyAmong = (among: readonly number[]): SampleSettings => ({ ...GREEDY, among })

/** In place of a token that is never read. */
const NOTHING = 0

/** The state: read once, and held until the last question is answered, then kept for the next request about it. */
export class StateLane extends ReadingLane {
  readonly tokens: readonly number[]
  readonly promptLength: number
  readonly reads: number
  readonly pieces: LanePieces | undefined
  /** Tokens of it that an earlier request had read. */
  found = 0

  constructor(state: readonly number[], pieces: LanePieces | undefined, failed: (error: unknown) => void) {
    super(failed)
    this.tokens = [...state, NOTHING]
    this.promptLength = this.tokens.length
    this.reads = state.length
    this.pieces = pieces
  }

  holds(tokens: number): void {
    this.paused = tokens >= this.reads
  }

  override cached(tokens: number): void {
    this.found = tokens
  }

  take(): void {}
}

/** A question behind the state. */
export abstract class StemLane extends ReadingLane {
  pieces: LanePieces | undefined
  #kept = Number.POSITIVE_INFINITY
  tokens: readonly number[]

  constructor(tokens: readonly number[], pieces: LanePieces | undefined, failed: (error: unknown) => void) {
    super(failed)
    this.tokens = tokens
    this.pieces = pieces
  }

  /** One more than it ever has: it is a prompt throughout, and as many of its places are asked as a step has room for. */
  get promptLength(): number {
    return this.tokens.length + 2
  }

  override get kept(): number {
    return Math.min(this.#kept, this.tokens.length)
  }

  /** Nothing of it is kept. */
  end(): void {
    this.#kept = 0
    this.finished = true
  }
}

/** Read from its first place to its last as a whole, of which the model tells a row each. */
export class RowsLane extends StemLane {
  readonly #scores: PlaceScores

  constructor(
    stem: readonly number[],
    rows: Rows,
    pieces: LanePieces | undefined,
    whole: (lane: RowsLane) => void,
    failed: (error: unknown) => void,
  ) {
    super(stem, pieces, failed)
    this.#scores = new PlaceScores(rows, () => whole(this))
  }

  override get scores(): LaneScores {
    return this.#scores
  }

  take(): void {}
}

/** All rows between two places come along: they are short, and read with the same tokens. */
class PlaceScores implements LaneScores {
  readonly #rows: Rows
  readonly #whole: () => void
  scored: number

  constructor(rows: Rows, whole: () => void) {
    this.#rows = rows
    this.#whole = whole
    this.scored = rows.first
  }

  get open(): number {
    return this.#rows.last + 1 - this.scored
  }

  settings(): SampleSettings {
    return GREEDY
  }

  take(sampled: readonly Sampled[]): void {
    for (const { row } of sampled) this.#rows.take(this.scored++, row!)
    if (this.open === 0) this.#whole()
  }
}

/** Scores the first token of its options, then the rest of one of them. */
export class QuestionLane extends StemLane {
  readonly #stem: readonly number[]
  readonly #trie: OptionTrie
  /** Hears that all that it asked is answered: it may go on then, or end. */
  next: (lane: QuestionLane) => void
  #walk: WalkScores | undefined

  constructor(
    stem: readonly number[],
    trie: OptionTrie,
    pieces: LanePieces | undefined,
    next: (lane: QuestionLane) => void,
    failed: (error: unknown) => void,
  ) {
    super(stem, pieces, failed)
    this.#stem = stem
    this.#trie = trie
    this.next = next
  }

  override get scores(): LaneScores | undefined {
    return this.#walk
  }

  override settings(): SampleSettings {
    return greedyAmong(this.#trie.candidates())
  }

  /** Goes on with what options have in common from their second token on, in these pieces; `many`: they are long. */
  go(walk: Walk, pieces: LanePieces | undefined, many: boolean): void {
    this.tokens = [...this.#stem, ...walk.path]
    this.pieces = pieces
    this.#walk = new WalkScores(this.#stem.length, walk, many, () => this.next(this))
  }

  take({ among }: Sampled): void {
    this.#trie.take(among!)
    this.next(this)
  }
}

class WalkScores implements LaneScores {
  readonly #stem: number
  readonly many: boolean
  readonly #walk: Walk
  readonly #whole: () => void
  #taken = 0

  constructor(stem: number, walk: Walk, many: boolean, whole: () => void) {
    this.many = many
    this.#stem = stem
    this.#walk = walk
    this.#whole = whole
  }

  get scored(): number {
    return this.#stem + this.#walk.from + this.#taken
  }

  get open(): number {
    return this.#walk.path.length - this.#walk.from - this.#taken
  }

  settings(position: number): SampleSettings {
    return greedyAmong(this.#walk.candidates(position - this.#stem))
  }

  take(sampled: readonly Sampled[]): void {
    for (const { among } of sampled) this.#walk.take(this.#walk.from + this.#taken++, among!)
    if (this.open === 0) this.#whole()
  }
}
