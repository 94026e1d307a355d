/** In which order a layer's mixer and its feed-forward read the stream and are added to it. */
import type { LayerPlan, ModelPlan, VectorRole } from '../model-plan.js'

export type NormRole = Extract<VectorRole, 'attentionNorm' | 'attentionAfter' | 'mlpNorm' | 'mlpAfter'>

/** Through which norms a part of a layer reads, and what it gives goes before it is added; none: as it is. */
interface Normed {
  readonly before?: NormRole
  readonly after?: NormRole
}

/** The mixer first, then the feed-forward, which reads what the mixer has added. */
export interface Arrangement {
  readonly mixer: Normed
  readonly feedForward: Normed
  /** The feed-forward reads what the mixer reads, the stream as this norm leaves it, and what both give is added. */
  readonly readsNormed?: NormRole
}

const ARRANGEMENTS: { readonly [Kind in LayerPlan['arrangement']]: Arrangement } = {
  /** What nearly all models have. */
  before: { mixer: { before: 'attentionNorm' }, feedForward: { before: 'mlpNorm' } },
  /** OLMo 2. */
  after: { mixer: { after: 'attentionAfter' }, feedForward: { after: 'mlpAfter' } },
  /** Gemma. */
  both: {
    mixer: { before: 'attentionNorm', after: 'attentionAfter' },
    feedForward: { before: 'mlpNorm', after: 'mlpAfter' },
  },
  /** Cohere. */
  parallel: { readsNormed: 'attentionNorm', mixer: {}, feedForward: {} },
}

export const arrangementOf = ({ arrangement }: Pick<LayerPlan, 'arrangement'>): Arrangement => ARRANGEMENTS[arrangement]

/** The norms that a layer has of its own for it. */
export function normsOf(layer: Pick<LayerPlan, 'arrangement'>): NormRole[] {
  const { mixer, feedForward, readsNormed } = arrangementOf(layer)
  const all = [readsNormed, mixer.before, feedForward.before, mixer.after, feedForward.after]
  return all.filter((role) => role !== undefined)
}

/** What the mixer and the feed-forward give is changed before it is added, so that it needs room of its own. */
export function addsApart({ layers, residualScale, embeddingScale }: ModelPlan): boolean {
  return (
    layers.some((layer) => arrangementOf(layer).mixer.after !== undefined) ||
    (residualScale ?? 1) !== (embeddingScale ?? 1)
  )
}

/** Normed rows have room of their own: several read them, or no product norms so. */
export const normsApart = ({ layers, centred }: ModelPlan): boolean =>
  centred === true || layers.some((layer) => arrangementOf(layer).readsNormed !== undefined)
