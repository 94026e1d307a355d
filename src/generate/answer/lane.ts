import type { Sampled, SampleSettings } from '../../contract/index.js'
import type { Drafted, DraftRoom } from '../drafts/path.js'

/** Scores of tokens that a lane has already, found a few positions a step. */
export interface LaneScores {
  /** Tokens after which the next one's score is known. */
  readonly scored: number
  /** Scores that are to come. */
  readonly open: number
  /** They are so many that a step finds as many as `TokenModel.maxScored`. @default as others draw */
  readonly many?: boolean
  /** What is asked after the token at `position`. */
  settings(position: number): SampleSettings
  /** The next ones. */
  take(sampled: readonly Sampled[]): void
}

/** In which pieces a lane is read, so that its values do not depend on its company. */
export interface LanePieces {
  /** Of a prefix that somebody else has read, how much may be gone on from. */
  floor(length: number): number
  /** How many tokens the next step may read from `at`, of `most` that there is room for; 0: it waits for more room. */
  next(at: number, most: number): number
  /** How many those are at least. */
  least(at: number): number
}

/** How an answer may go on, guess by guess. */
export interface Outlook {
  /** What was guessed so far, and what is certain after each guess. */
  readonly tokens: readonly number[]
  /** How a token is drawn hangs on none before it, but for its index. */
  readonly free: boolean
  /** How the token behind them is drawn. */
  settings(): SampleSettings
  /** Goes on by a guess; false: it is at its end. */
  push(token: number): boolean
  /** As the model is asked; undefined where nothing was guessed. */
  readonly drafted: Drafted | undefined
}

/** One choice of one call, as the scheduler sees it: a list of tokens that wants to grow. */
export interface Lane {
  /** The call that it belongs to, as logs name it, where its settings may take long. */
  readonly request?: string
  /** Prompt and answer so far. */
  readonly tokens: readonly number[]
  readonly promptLength: number
  /** Of its prompt, where this choice is the one that finds them. */
  readonly scores: LaneScores | undefined
  /** Tokens to be read, where that is not all of them. */
  readonly reads?: number
  /** Absent: in any. */
  readonly pieces?: LanePieces | undefined
  /** How many leading tokens are as they were when the scheduler last looked. */
  readonly kept: number
  /** The reader is behind, or its next mask is being made: no step should be spent on this answer now. */
  readonly paused: boolean
  readonly finished: boolean
  /** Whether the next settings can be known before the next token is: neither mask nor counts hang on it. */
  readonly foreseeable: boolean
  /** The most tokens that may still be sampled. */
  readonly remaining: number
  /** Makes what `settings` needs; false: that takes long, and until it is made in turns of its own it is `paused`. */
  prepare?(): boolean
  /** How to draw the next token. */
  settings(): SampleSettings
  /** It writes what may stand in its prompt: `foresee` may find how it goes on. */
  readonly guessable?: boolean
  /** How it may go on behind its tokens, as far as there is room; undefined: nobody can guess. */
  foresee?(room: DraftRoom): Drafted | undefined
  /** Another model may guess how it goes on, along an `outlook`. */
  readonly draftable?: boolean
  outlook?(room: DraftRoom): Outlook | undefined
  /** The next token; may add more that are certain, or replace some at the end. */
  take(sampled: Sampled): void
  /** The scheduler has seen `tokens`. */
  settle(): void
  /** So many of its tokens are in the cache now. */
  holds?(tokens: number): void
  /** Tokens of the prompt that an earlier call left in the cache. */
  cached(tokens: number): void
  fail(error: unknown): void
}
