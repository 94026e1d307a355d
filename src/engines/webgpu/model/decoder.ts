/** What a pass does, layer by layer, as the model's plan describes it. */
import type { Activations, Device, KeyValueCache, Pass, SampleRow, Sampler } from '../device/device.js'
import type { ModelPlan } from './model-plan.js'
import type { DecoderWeights, LayerWeights } from './weights.js'

/** Activations, allocated once for the largest pass. */
interface Room {
  readonly hidden: Activations
  readonly qkv: Activations
  readonly attended: Activations
  readonly inner: Activations
  /** Rows of which logits are made. */
  readonly last: Activations
  readonly lastAttended: Activations
  readonly logits: Activations
}

export class Decoder {
  readonly #model: ModelPlan
  readonly #weights: DecoderWeights
  readonly #cache: KeyValueCache
  readonly #room: Room

  /** `rows`: tokens of the largest pass. `wanted`: rows of logits of the largest pass. */
  constructor(
    device: Device,
    model: ModelPlan,
    weights: DecoderWeights,
    cache: KeyValueCache,
    rows: number,
    wanted: number,
  ) {
    this.#model = model
    this.#weights = weights
    this.#cache = cache
    const { hidden, vocabulary } = model
    const { heads, keyHeads, headSize, intermediate } = model.layers[0]!
    this.#room = {
      hidden: device.activations(rows, hidden),
      qkv: device.activations(rows, (heads + 2 * keyHeads) * headSize),
      attended: device.activations(rows, heads * headSize),
      inner: device.activations(rows, intermediate),
      last: device.activations(wanted, hidden),
      lastAttended: device.activations(wanted, heads * headSize),
      logits: device.activations(wanted, vocabulary),
    }
  }

  /** Runs the batch through all layers; `wanted` are the rows of which logits are made, in this order. */
  forward(pass: Pass, wanted: Int32Array): Activations {
    const { embedding, layers, norm, head } = this.#weights
    const room = this.#room
    pass.embed(embedding, room.hidden)
    // In a step of decoding all rows are wanted, as they lie.
    const all = wanted.length === pass.rows
    layers.forEach((_, i) => {
      const keeps = i === layers.length - 1 && !all
      this.#layer(pass, i, keeps ? wanted : undefined)
    })
    if (wanted.length === 0) return room.logits
    const { epsilon } = this.#model
    const last = all ? room.hidden : room.last
    pass.project(head, last, room.logits, { rows: wanted.length, norm: { weight: norm, epsilon } })
    return room.logits
  }

  sample(pass: Pass, sampler: Sampler, rows: readonly SampleRow[]): void {
    if (rows.length > 0) pass.sample(sampler, this.#room.logits, rows)
  }

  /** `wanted`: no other rows are needed after this layer, but that later tokens find their keys and values. */
  #layer(pass: Pass, index: number, wanted?: Int32Array): void {
    const layer = this.#weights.layers[index]!
    const { hidden, qkv, attended, last, lastAttended } = this.#room
    const norm = { weight: layer.attentionNorm, epsilon: this.#model.epsilon }
    pass.project(layer.qkv.matrix, hidden, qkv, { norm, bias: layer.qkv.bias })
    this.#place(pass, index)
    if (wanted?.length === 0) return
    this.#attend(pass, index)
    if (!wanted) {
      this.#mix(pass, layer, attended, hidden, pass.rows)
      return
    }
    pass.pick(attended, wanted, lastAttended)
    pass.pick(hidden, wanted, last)
    this.#mix(pass, layer, lastAttended, last, wanted.length)
  }

  #place(pass: Pass, index: number): void {
    const { epsilon, layers } = this.#model
    const { queryNorm, keyNorm, angles } = this.#weights.layers[index]!
    pass.place(this.#room.qkv, this.#cache, index, {
      heads: layers[index]!.heads,
      angles,
      ...(queryNorm && keyNorm ? { headNorm: { query: queryNorm, key: keyNorm, epsilon } } : {}),
    })
  }

  #attend(pass: Pass, index: number): void {
    const { heads, scale, window } = this.#model.layers[index]!
    pass.attend(this.#room.qkv, this.#cache, index, this.#room.attended, { heads, scale, window })
  }

  /** What a layer does with each row by itself. */
  #mix(pass: Pass, layer: LayerWeights, attended: Activations, hidden: Activations, rows: number): void {
    const { inner } = this.#room
    const { output, gateUp, down } = layer
    const norm = { weight: layer.mlpNorm, epsilon: this.#model.epsilon }
    pass.project(output.matrix, attended, hidden, { rows, add: true, bias: output.bias })
    pass.project(gateUp.matrix, hidden, inner, { rows, norm, gated: true, bias: gateUp.bias })
    pass.project(down.matrix, inner, hidden, { rows, add: true, bias: down.bias })
  }

  destroy(): void {
    for (const activations of Object.values(this.#room)) activations.destroy()
  }
}
