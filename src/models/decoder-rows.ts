/** The layers of a decoder over whole texts. */
import type { Device, Pass } from '../device/index.js'
import { mixerOf } from './blocks/mixers/index.js'
import { Decoder } from './decoder.js'
import type { KeptOfLayer, KeptPlan, SequenceMemory } from './kept.js'
import type { LayerPlan, ModelPlan } from './model-plan.js'
import type { DecoderWeights } from './weights.js'

export interface DecoderRowsParts {
  readonly model: ModelPlan
  readonly weights: DecoderWeights
  readonly kept: SequenceMemory
}

/** All rows of texts, through the layers. */
export class DecoderRows {
  readonly layers: number
  readonly work: number
  protected readonly decoder: Decoder

  /** `rows`: tokens of the largest batch. */
  constructor(device: Device, { model, weights, kept }: DecoderRowsParts, rows: number) {
    this.layers = model.layers.length
    this.work = Math.max(...model.layers.map((layer) => workOf(layer, model.hidden)))
    this.decoder = new Decoder(device, model, weights, kept, rows, 1)
  }

  begin(pass: Pass): void {
    this.decoder.embed(pass, [])
  }

  layer(pass: Pass, index: number): void {
    this.decoder.layer(pass, index)
  }

  destroy(): void {
    this.decoder.destroy()
  }
}

/**
 * Texts are computed as wholes: no layer needs keys and values of another, or what another keeps of a sequence, and all of
 * one form share it.
 */
export function sharedKept({ layers, hidden }: ModelPlan): KeptPlan {
  const states: number[] = []
  const firsts = new Map<string, number>()
  const stateOf = (layer: LayerPlan): KeptOfLayer => {
    const sizes = mixerOf(layer).states(layer, hidden)
    if (sizes.length === 0) return {}
    const first = firsts.get(String(sizes)) ?? states.length
    if (first === states.length) states.push(...sizes)
    firsts.set(String(sizes), first)
    return { state: first }
  }
  const caches: { layers: number; heads: number; headSize: number }[] = []
  const places = layers.map((layer): KeptOfLayer => {
    if (layer.kind !== 'attention') return stateOf(layer)
    const { keyHeads: heads, headSize } = layer
    const found = caches.findIndex((cache) => cache.heads === heads && cache.headSize === headSize)
    return { cache: { index: found < 0 ? caches.push({ layers: 1, heads, headSize }) - 1 : found, layer: 0 } }
  })
  return { caches, states, layers: places }
}

function workOf(layer: LayerPlan, hidden: number): number {
  const inner = innerOf(layer.feedForward)
  const { input, mixed } = mixerOf(layer).widths(layer, hidden)
  return hidden * (input + mixed + 3 * inner)
}

/** Values that a row goes through. */
function innerOf(plan: LayerPlan['feedForward']): number {
  if (plan.kind === 'mixed') return plan.size + innerOf(plan.experts)
  return plan.size * (plan.kind === 'experts' ? plan.chosen : 1)
}
