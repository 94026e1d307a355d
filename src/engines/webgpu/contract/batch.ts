/** What a pass is about: the sequences that it advances, and how a token of them is drawn. */
import type { Sampler } from './tensors.js'

/** How many alternatives `topLogprobs` may ask for. */
export const MAX_TOP = 20

/** The sequences that a pass advances, one span each. Its rows are their tokens in order. */
export interface Batch {
  readonly spans: readonly Span[]
  /** Whose slots the `slotToken`s mean. */
  readonly sampler?: Sampler
}

export interface Span {
  /** Ids; `slotToken(s)` stands for the token that an earlier pass sampled into slot s. */
  readonly tokens: Int32Array
  /** Position of the first token. */
  readonly position: number
  /** The sequence's pages in order: at least up to its last token's position. */
  readonly pages: Int32Array
  /** The same for caches that slide; those that no row of the pass sees are never looked at. */
  readonly windowPages?: Int32Array | undefined
  /** What each token is embedded by beside itself: rows of a second table. @default their positions */
  readonly places?: Int32Array | undefined
  /**
   * The slot that has the sequence's states before its first token, or `NO_STATE`, and the one for those after its last,
   * which may be the same. Of a pass's spans, no slot that one writes is another's. Absent: no layer has a state.
   */
  readonly state?: SpanState
}

export interface SpanState {
  readonly from: number
  readonly to: number
}

/** In place of a slot: nothing came before, all values are zero. */
export const NO_STATE = -1

/** Stands in `Span.tokens` for a token that has not been read back. */
export function slotToken(slot: number): number {
  return -1 - slot
}

/** One row to sample. Chance comes from `seed` and `index` alone: see `sampling.ts`, which defines the draw. */
export interface SampleRow {
  /** The token is kept in this slot until the next sample into it. */
  readonly slot: number
  /** 0: the greatest logit, the lowest id among equals. */
  readonly temperature: number
  readonly topP: number
  readonly seed: number
  readonly index: number
  /** One bit per token, lowest first; tokens beyond it are not allowed. */
  readonly mask?: Uint32Array
  /** Only so many of the greatest, and whatever equals the last of them. @default all */
  readonly topK?: number
  /** Only what is at least so likely as this share of the likeliest. @default 0 */
  readonly minP?: number
  /** Logits of tokens whose bit is set are divided by `by` where they are above 0, else multiplied by it: first of all. */
  readonly repeats?: { readonly tokens: Uint32Array; readonly by: number }
  /** Added to the logits of these tokens before mask and temperature: penalties and bias. Each token at most once. */
  readonly adjust?: { readonly tokens: Int32Array; readonly deltas: Float32Array }
  /** Absent: no log probabilities. They are of the logits as the model gave them. */
  readonly topLogprobs?: number
  /** Tokens whose log probabilities are wanted, `MOST_AMONG` at most. */
  readonly among?: readonly number[]
  /** The log probability of all allowed tokens together is wanted. */
  readonly admitted?: boolean
}

export interface SampledRow {
  /** Or `UNDRAWN`: some logit is infinite or not a number. */
  readonly token: number
  readonly logprob?: number
  readonly top?: readonly { readonly token: number; readonly logprob: number }[]
  readonly among?: readonly number[]
  readonly admitted?: number
}
