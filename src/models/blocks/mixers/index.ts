/** The kinds of layers. */
import type { LayerPlan } from '../../model-plan.js'
import { attention } from './attention.js'
import { convolution } from './convolution.js'
import { deltaNet } from './delta.js'
import type { Mixer } from './mixer.js'

const MIXERS: { readonly [Kind in LayerPlan['kind']]: Mixer<Extract<LayerPlan, { kind: Kind }>> } = {
  attention,
  convolution,
  delta: deltaNet,
}

export function mixerOf(layer: LayerPlan): Mixer<LayerPlan> {
  // A layer is only ever given to the mixer of its own kind.
  return MIXERS[layer.kind] as unknown as Mixer<LayerPlan>
}
