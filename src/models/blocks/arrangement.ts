/** In which order a layer's mixer and its feed-forward read the stream and are added to it. */
import type { LayerPlan, ModelPlan, VectorRole } from '../model-plan.js'

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

/**
 * The mixer first, then the feed-forward, which reads what the mixer has added. Norms before them: what nearly all
 * models have.
 */
const normedBefore: Arrangement = {
  norms: ['attentionNorm', 'mlpNorm'],
  run(layer) {
    layer.mix('attentionNorm')
    layer.addMixed()
    layer.feed('mlpNorm')
  },
}

/** Norms after them: OLMo 2. */
const normedAfter: Arrangement = {
  norms: ['attentionAfter', 'mlpAfter'],
  addsNormed: true,
  run(layer) {
    layer.mix()
    layer.addMixed('attentionAfter')
    layer.feed(undefined, 'mlpAfter')
  },
}

/** On both sides: Gemma. */
const normedTwice: Arrangement = {
  norms: [...normedBefore.norms, ...normedAfter.norms],
  addsNormed: true,
  run(layer) {
    layer.mix('attentionNorm')
    layer.addMixed('attentionAfter')
    layer.feed('mlpNorm', 'mlpAfter')
  },
}

/** The feed-forward reads what the mixer reads, and what both give is added: Cohere. */
const parallel: Arrangement = {
  norms: ['attentionNorm'],
  readsNormed: true,
  run(layer) {
    layer.readNormed('attentionNorm')
    layer.mix()
    layer.addMixed()
    layer.feed()
  },
}

const ARRANGEMENTS: { readonly [Kind in LayerPlan['arrangement']]: Arrangement } = {
  before: normedBefore,
  after: normedAfter,
  both: normedTwice,
  parallel,
}

export const arrangementOf = ({ arrangement }: Pick<LayerPlan, 'arrangement'>): Arrangement => ARRANGEMENTS[arrangement]

/** What the mixer and the feed-forward give is changed before it is added, so that it needs room of its own. */
export function addsApart({ layers, residualScale, embeddingScale }: ModelPlan): boolean {
  return layers.some((layer) => arrangementOf(layer).addsNormed) || (residualScale ?? 1) !== (embeddingScale ?? 1)
}

/** Normed rows have room of their own: several read them, or no product norms so. */
export const normsApart = ({ layers, centred }: ModelPlan): boolean =>
  centred === true || layers.some((layer) => arrangementOf(layer).readsNormed)
