/** The kinds of arrangements, and what room they need. */
import type { LayerPlan, ModelPlan } from '../../model-plan.js'
import type { Arrangement } from './arrangement.js'
import { parallel } from './parallel.js'
import { normedAfter, normedBefore, normedTwice } from './sequential.js'

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
