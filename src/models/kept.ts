/** What the layers of a model keep of a sequence: keys and values in caches, everything else in states. */
import type { CacheShape, KeyValueCache, States } from '../device/index.js'
import { cacheBytes } from '../platform/index.js'
import { mixerOf } from './blocks/mixers/index.js'
import type { LayerPlan, ModelPlan } from './model-plan.js'

export interface KeptPlan {
  /** One cache for all layers whose heads have the same form, and that slide or do not. */
  readonly caches: readonly Pick<CacheShape, 'layers' | 'heads' | 'headSize' | 'sliding'>[]
  /** Values of every state, one layer's after the other's. */
  readonly states: readonly number[]
  /** One more where a head guesses: its own. */
  readonly layers: readonly KeptOfLayer[]
  /** Of a head that guesses: the state that has the last row. */
  readonly row?: number
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
  /** Of the caches that slide; absent: none does. */
  readonly windows?: { readonly pages: number; readonly window: number }
  /** Absent: no layer has any. */
  readonly states?: States
}

/** The widest window; absent: no layer has one. */
export function windowOf({ layers }: ModelPlan): number | undefined {
  const windows = layers.flatMap((layer) => (layer.kind === 'attention' && layer.window ? [layer.window] : []))
  return windows.length > 0 ? Math.max(...windows) : undefined
}

/** `sliding`: layers with a window keep no more than that. */
export function planKept({ layers, hidden, draftHead }: ModelPlan, sliding: boolean): KeptPlan {
  const caches: { layers: number; heads: number; headSize: number; sliding?: boolean }[] = []
  const states: number[] = []
  const places: KeptOfLayer[] = []
  const placeOf = (layer: LayerPlan): KeptOfLayer => {
    if (layer.kind !== 'attention') {
      const state = states.length
      states.push(...mixerOf(layer).states(layer, hidden))
      return { state }
    }
    if (layer.keysOf !== undefined) return places[layer.keysOf]!
    const { keyHeads: heads, headSize, window } = layer
    const shape = { heads, headSize, ...(sliding && window !== undefined && { sliding }) }
    const found = caches.findIndex((cache) => {
      return cache.heads === heads && cache.headSize === headSize && cache.sliding === shape.sliding
    })
    const index = found < 0 ? caches.push({ layers: 0, ...shape }) - 1 : found
    return { cache: { index, layer: caches[index]!.layers++ } }
  }
  for (const layer of layers) places.push(placeOf(layer))
  if (!draftHead) return { caches, states, layers: places }
  places.push(placeOf(draftHead.layer))
  return { caches, states, layers: places, row: states.push(hidden) - 1 }
}

/** Bytes of keys and values of a token in all layers that slide or do not, and in the layer that takes most. */
export function tokenBytes(
  { caches: all }: KeptPlan,
  type: CacheShape['type'],
  sliding = false,
): { all: number; most: number } {
  const caches = all.filter((cache) => (cache.sliding ?? false) === sliding)
  const of = ({ heads, headSize }: { heads: number; headSize: number }) => 2 * heads * cacheBytes(type, headSize)
  return {
    all: caches.reduce((sum, cache) => sum + of(cache) * cache.layers, 0),
    most: Math.max(0, ...caches.map(of)),
  }
}
