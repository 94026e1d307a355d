/** What a pass is about: the sequences that it advances, and how a token of them is drawn. */
import type { Sampled, SampleSettings } from '../../contract/index.js'
import type { Sampler } from './tensors.js'

/** How many alternatives `topLogprobs` may ask for. */
export const MAX_TOP = 20

/** The sequences that a pass advances, one span each. Its rows are their tokens in order. */
export interface Batch {
  readonly spans: readonly Span[]
  /** Whose slots the `slotToken`s mean. */
  readonly sampler?: Sampler
  /**
   * Its rows are computed in one way however few there are, so that the values of one never depend on those beside it: see
   * `DeviceLimits.fewRows`.
   */
  readonly steady?: boolean
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
  /**
   * The slot that each of its tokens leaves its states in, the last one in `to`; before a token that leaves them in the
   * same one they are of no use. @default `to`
   */
  readonly each?: Int32Array
}

/** In place of a slot: nothing came before, all values are zero. */
export const NO_STATE = -1

/** Stands in `Span.tokens` for a token that has not been read back. */
export function slotToken(slot: number): number {
  return -1 - slot
}

/**
 * One row to sample, as its answer asks: see `SampleSettings`, and `sampling.ts`, which defines the draw. Chance comes from
 * `seed` and `index` alone. Logits are divided where they repeat, then added to, then masked, then divided by the temperature.
 */
export interface SampleRow
  extends Omit<SampleSettings, 'presencePenalty' | 'frequencyPenalty' | 'counts' | 'logitBias'> {
  /** The token is kept in this slot until the next sample into it. */
  readonly slot: number
  /** Added to the logits of these tokens: penalties and bias. Each token at most once. */
  readonly adjust?: { readonly tokens: Int32Array; readonly deltas: Float32Array }
}

/** `UNDRAWN` where some logit is infinite or not a number. */
export type SampledRow = Omit<Sampled, 'drafts' | 'row'>
