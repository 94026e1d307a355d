/** A decoder of which vectors are made in place of text: its layers over whole texts, then the last norm. */
import type { Device, Pass } from '../contract.js'
import { Decoder } from '../model/decoder.js'
import type { KeptPlan, SequenceMemory } from '../model/kept.js'
import type { AttentionLayer, ModelPlan } from '../model/model-plan.js'
import type { DecoderWeights } from '../model/weights.js'
import type { Laid, RowEncoder } from './vector-core.js'
import type { VectorHead } from './vector-head.js'

export interface PooledDecoderParts {
  readonly model: ModelPlan
  readonly weights: DecoderWeights
  readonly kept: SequenceMemory
  readonly head: VectorHead
}

export class PooledDecoder implements RowEncoder {
  readonly layers: number
  readonly work: number
  readonly #decoder: Decoder
  readonly #head: VectorHead

  /** `rows`: tokens of the largest batch. */
  constructor(device: Device, { model, weights, kept, head }: PooledDecoderParts, rows: number) {
    this.layers = model.layers.length
    this.work = Math.max(...model.layers.map((layer) => workOf(layer as AttentionLayer, model.hidden)))
    this.#decoder = new Decoder(device, model, weights, kept, rows, 1)
    this.#head = head
  }

  begin(pass: Pass): void {
    this.#decoder.embed(pass, [])
  }

  layer(pass: Pass, index: number): void {
    this.#decoder.layer(pass, index)
  }

  end(pass: Pass, { lasts }: Laid): Promise<Float32Array> {
    return this.#head.read(pass, this.#decoder.normed(pass), lasts)
  }

  destroy(): void {
    this.#decoder.destroy()
    this.#head.destroy()
  }
}

function workOf({ heads, keyHeads, headSize, feedForward }: AttentionLayer, hidden: number): number {
  const inner = feedForward.size * (feedForward.kind === 'experts' ? feedForward.chosen : 1)
  return hidden * ((2 * heads + 2 * keyHeads) * headSize + 3 * inner)
}

/** Texts are computed as wholes: no layer needs keys and values of another, and all of one form share a cache. */
export function sharedKept({ layers }: ModelPlan): KeptPlan {
  const caches: { layers: number; heads: number; headSize: number }[] = []
  const places = (layers as readonly AttentionLayer[]).map(({ keyHeads: heads, headSize }) => {
    const found = caches.findIndex((cache) => cache.heads === heads && cache.headSize === headSize)
    return { cache: { index: found < 0 ? caches.push({ layers: 1, heads, headSize }) - 1 : found, layer: 0 } }
  })
  return { caches, states: [], layers: places }
}
