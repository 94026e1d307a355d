/** One Llama-family decoder: what a pass does, layer by layer, described by its configuration. */
import type { Activations, Device, KeyValueCache, Pass, SampleRow, Sampler } from '../device/device.js'
import type { DecoderConfig } from './config.js'
import type { DecoderWeights } from './weights.js'

/** Activations, allocated once for the largest pass. */
interface Room {
  readonly hidden: Activations
  readonly qkv: Activations
  readonly attended: Activations
  readonly inner: Activations
  readonly last: Activations
  readonly logits: Activations
}

export class Decoder {
  readonly #config: DecoderConfig
  readonly #weights: DecoderWeights
  readonly #cache: KeyValueCache
  readonly #room: Room

  /** `rows`: tokens of the largest pass. `wanted`: rows of logits of the largest pass. */
  constructor(
    device: Device,
    config: DecoderConfig,
    weights: DecoderWeights,
    cache: KeyValueCache,
    rows: number,
    wanted: number,
  ) {
    this.#config = config
    this.#weights = weights
    this.#cache = cache
    const { hidden, heads, keyHeads, headSize } = config
    this.#room = {
      hidden: device.activations(rows, hidden),
      qkv: device.activations(rows, (heads + 2 * keyHeads) * headSize),
      attended: device.activations(rows, heads * headSize),
      inner: device.activations(rows, config.intermediate),
      last: device.activations(wanted, hidden),
      logits: device.activations(wanted, config.vocabulary),
    }
  }

  /** Runs the batch through all layers; `wanted` are the rows of which logits are made, in this order. */
  forward(pass: Pass, wanted: Int32Array): Activations {
    const { embedding, layers, norm, head } = this.#weights
    const room = this.#room
    pass.embed(embedding, room.hidden)
    for (let i = 0; i < layers.length; i++) this.#layer(pass, i)
    if (wanted.length === 0) return room.logits
    // In a step of decoding all rows are wanted, as they lie.
    const all = wanted.length === pass.rows
    if (!all) pass.pick(room.hidden, wanted, room.last)
    const { epsilon } = this.#config
    const last = all ? room.hidden : room.last
    pass.project(head, last, room.logits, { rows: wanted.length, norm: { weight: norm, epsilon } })
    return room.logits
  }

  sample(pass: Pass, sampler: Sampler, rows: readonly SampleRow[]): void {
    if (rows.length > 0) pass.sample(sampler, this.#room.logits, rows)
  }

  #layer(pass: Pass, index: number): void {
    const { heads, headSize, epsilon, window, windowFrom } = this.#config
    const layer = this.#weights.layers[index]!
    const { hidden, qkv, attended, inner } = this.#room
    pass.project(layer.qkv, hidden, qkv, {
      norm: { weight: layer.attentionNorm, epsilon },
      ...(layer.qkvBias ? { bias: layer.qkvBias } : {}),
    })
    const { queryNorm, keyNorm } = layer
    pass.place(qkv, this.#cache, index, {
      heads,
      angles: this.#weights.angles,
      ...(queryNorm && keyNorm ? { headNorm: { query: queryNorm, key: keyNorm, epsilon } } : {}),
    })
    pass.attend(qkv, this.#cache, index, attended, {
      heads,
      scale: headSize ** -0.5,
      ...(window !== undefined && index >= windowFrom ? { window } : {}),
    })
    pass.project(layer.output, attended, hidden, { add: true })
    pass.project(layer.gateUp, hidden, inner, { norm: { weight: layer.mlpNorm, epsilon }, gated: true })
    pass.project(layer.down, inner, hidden, { add: true })
  }

  destroy(): void {
    for (const activations of Object.values(this.#room)) activations.destroy()
  }
}
