/** In which order a layer's mixer and its feed-forward read the stream and are added to it. */
import type { VectorRole } from '../../model-plan.js'

export type NormRole = Extract<VectorRole, 'attentionNorm' | 'attentionAfter' | 'mlpNorm' | 'mlpAfter'>

/** A layer in a pass, step by step. */
export interface LayerSteps {
  /** What the mixer and the feed-forward read from here on is the stream, normed, and not the stream itself. */
  readNormed(by: NormRole): void
  /** The mixer reads, through a norm if one is named; of rows that nothing else is needed of, nothing is computed any more. */
  mix(before?: NormRole): void
  /** What it gives is added to the stream, normed if a norm is named. */
  addMixed(after?: NormRole): void
  /** The feed-forward reads, and what it gives is added. */
  feed(before?: NormRole, after?: NormRole): void
}

export interface Arrangement {
  /** The norms that a layer has of its own for it. */
  readonly norms: readonly NormRole[]
  /** Normed rows have room of their own: several read them. */
  readonly readsNormed?: boolean
  /** What the mixer and the feed-forward give is normed before it is added. */
  readonly addsNormed?: boolean
  run(layer: LayerSteps): void
}
