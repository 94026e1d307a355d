/** The layers of a decoder over whole texts: of models that make vectors, or scores at marks, in place of text. */
import type { TextTokens } from '../../contract/index.js'
import type { Device, Pass, Span } from '../../device/index.js'
import { mixerOf } from '../blocks/mixers/index.js'
import { Decoder } from '../decoder.js'
import type { KeptOfLayer, KeptPlan, SequenceMemory } from '../kept.js'
import type { LayerPlan, ModelPlan } from '../model-plan.js'
import type { DecoderWeights } from '../weights.js'
import type { Trunk } from './decision-encoder.js'
import type { JointHead } from './joint-head.js'
import type { Laid, RowEncoder } from './vector-core.js'
import type { VectorHead } from './vector-head.js'

export interface DecoderRowsParts {
  readonly model: ModelPlan
  readonly weights: DecoderWeights
  readonly kept: SequenceMemory
}

class DecoderRows {
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

/** A vector of each text: its rows through the last norm, pooled. */
export class PooledDecoder extends DecoderRows implements RowEncoder {
  readonly #head: VectorHead

  constructor(device: Device, parts: DecoderRowsParts & { readonly head: VectorHead }, rows: number) {
    super(device, parts, rows)
    this.#head = parts.head
  }

  end(pass: Pass, { lasts }: Laid): Promise<Float32Array> {
    return this.#head.read(pass, this.decoder.normed(pass), lasts)
  }

  override destroy(): void {
    super.destroy()
    this.#head.destroy()
  }
}

/** Scores of all options that a text has, by a head that decides its questions together. */
export class JointDecoder extends DecoderRows implements RowEncoder {
  readonly states: boolean
  readonly decider: NonNullable<RowEncoder['decider']>
  readonly #head: JointHead

  constructor(device: Device, parts: DecoderRowsParts & { readonly head: JointHead }, rows: number) {
    super(device, parts, rows)
    const { head } = parts
    this.#head = head
    this.states = parts.kept.states !== undefined
    this.decider = {
      scores: (spans: readonly Span[], batch: readonly TextTokens[]) => head.scores(this.decoder.hidden, spans, batch),
      rehearse: (begin, spans) => head.rehearse(begin, this.decoder.hidden, spans),
    }
  }

  end(pass: Pass): undefined {
    this.#head.remember(pass, this.decoder.normed(pass))
  }

  override destroy(): void {
    super.destroy()
    this.#head.destroy()
  }
}

/** All of its rows, for a head that has more layers. */
export class DecoderTrunk extends DecoderRows implements Trunk {
  readonly room: Trunk['room']
  readonly apart = true

  constructor(device: Device, parts: DecoderRowsParts, rows: number) {
    super(device, parts, rows)
    const { hidden } = parts.model
    this.room = {
      hidden: this.decoder.hidden,
      normed: device.activations(rows, hidden),
      qkv: device.activations(rows, 3 * hidden),
      seen: device.activations(rows, hidden),
    }
  }

  finish(pass: Pass): void {
    this.decoder.normed(pass)
  }

  override destroy(): void {
    const { hidden: _, ...own } = this.room
    for (const activations of Object.values(own)) activations.destroy()
    super.destroy()
  }
}

function workOf(layer: LayerPlan, hidden: number): number {
  const inner = innerOf(layer.feedForward)
  const { input, mixed } = mixerOf(layer).widths(layer, hidden)
  return hidden * (input + mixed + 3 * inner)
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

/** Values that a row goes through. */
function innerOf(plan: LayerPlan['feedForward']): number {
  if (plan.kind === 'mixed') return plan.size + innerOf(plan.experts)
  return plan.size * (plan.kind === 'experts' ? plan.chosen : 1)
}
