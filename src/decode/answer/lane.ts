import type { Sampled, SampleSettings } from '../token-model.js'
import type { PromptScores } from './prompt-scores.js'

/** One choice of one call, as the scheduler sees it: a list of tokens that wants to grow. */
export interface Lane {
  /** Prompt and answer so far. */
  readonly tokens: readonly number[]
  readonly promptLength: number
  /** Of its prompt, where this choice is the one that finds them. */
  readonly scores: PromptScores | undefined
  /** How many leading tokens are as they were when the scheduler last looked. */
  readonly kept: number
  /** The reader is behind: no step should be spent on this answer now. */
  readonly paused: boolean
  readonly finished: boolean
  /** Whether the next settings can be known before the next token is: neither mask nor counts hang on it. */
  readonly foreseeable: boolean
  /** The most tokens that may still be sampled. */
  readonly remaining: number
  /** How to draw the next token. */
  settings(): SampleSettings
  /** The next token; may add more that are certain, or replace some at the end. */
  take(sampled: Sampled): void
  /** The scheduler has seen `tokens`. */
  settle(): void
  /** Tokens of the prompt that an earlier call left in the cache. */
  cached(tokens: number): void
  fail(error: unknown): void
}
