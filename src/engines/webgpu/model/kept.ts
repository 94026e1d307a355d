/** What the layers of a model keep of a sequence: keys and values in caches, everything else in states. */
import type { CacheShape, KeyValueCache, States } from '../contract.js'
import { mixerOf } from './mixers/index.js'
import type { LayerPlan, ModelPlan } from './model-plan.js'

export interface KeptPlan {
  /** One cache for all layers whose heads have the same form. */
  readonly caches: readonly Pick<CacheShape, 'layers' | 'heads' | 'headSize'>[]
  /** Values of every state, one layer's after the other's. */
  readonly states: readonly number[]
  readonly layers: readonly KeptOfLayer[]
}

export interface KeptOfLayer {
  /** Which cache, and which of its layers. */
  readonly cache?: { readonly index: number; readonly layer: number }
  /** Its first state. */
  readonly state?: number
}

/** The same on a device. */
export interface SequenceMemory {
  readonly plan: KeptPlan
  readonly caches: readonly KeyValueCache[]
  /** Absent: no layer has any. */
  readonly states?: States
}

export function planKept({ layers, hidden }: ModelPlan): KeptPlan {
  const caches: { layers: number; heads: number; headSize: number }[] = []
  const states: number[] = []
  const places: KeptOfLayer[] = []
  const placeOf = (layer: LayerPlan): KeptOfLayer => {
    if (layer.kind !== 'attention') {
      const state = states.length
      states.push(...mixerOf(layer).states(layer, hidden))
      return { state }
    }
    if (layer.keysOf !== undefined) return places[layer.keysOf]!
    const { keyHeads: heads, headSize } = layer
    const found = caches.findIndex((cache) => cache.heads === heads && cache.headSize === headSize)
    const index = found < 0 ? caches.push({ layers: 0, heads, headSize }) - 1 : found
    return { cache: { index, layer: caches[index]!.layers++ } }
  }
  for (const layer of layers) places.push(placeOf(layer))
  return { caches, states, layers: places }
}

/** Bytes of keys and values of a token in all layers, and in the layer that takes most. */
export function tokenBytes({ caches }: KeptPlan, type: CacheShape['type']): { all: number; most: number } {
  const of = ({ heads, headSize }: { heads: number; headSize: number }) =>
    2 * heads * headSize * (type === 'f16' ? 2 : 4)
  return {
    all: caches.reduce((sum, cache) => sum + of(cache) * cache.layers, 0),
    most: Math.max(0, ...caches.map(of)),
  }
}
