/** What a pass does, layer by layer, as the model's plan describes it. */
import type { Activations, Device, KeyValueCache, Pass, SampleRow, Sampler, Vector } from '../contract.js'
import { joinsApart, type ModelPlan } from './model-plan.js'
import type { BiasedMatrix, DecoderWeights, LayerWeights } from './weights.js'

/** Activations, allocated once for the largest pass. */
interface Room {
  /** All that has been added up so far, as a multiple of the model's own: see `#scale`. */
  readonly hidden: Activations
  readonly qkv: Activations
  readonly attended: Activations
  readonly inner: Activations
  /** What attention or the MLP gives, where it is not added as it is. */
  readonly apart?: Activations
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
  /**
   * What is added to `hidden` is multiplied by it. Embeddings come as they are, however the model scales them: as
   * everything else reads `hidden` through a norm, it may as well be smaller by that factor throughout.
   */
  readonly #scale: number
  readonly #epsilon: number

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
    const { hidden, vocabulary, epsilon, embeddingScale = 1, residualScale = 1 } = model
    this.#scale = residualScale / embeddingScale
    this.#epsilon = epsilon / embeddingScale ** 2
    const { heads, keyHeads, headSize, intermediate } = model.layers[0]!
    this.#room = {
      hidden: device.activations(rows, hidden),
      qkv: device.activations(rows, (heads + 2 * keyHeads) * headSize),
      attended: device.activations(rows, heads * headSize),
      inner: device.activations(rows, intermediate),
      ...(joinsApart(model) && { apart: device.activations(rows, hidden) }),
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
    const last = all ? room.hidden : room.last
    pass.project(head, last, room.logits, { rows: wanted.length, norm: { weight: norm, epsilon: this.#epsilon } })
    const { logitCap: cap } = this.#model
    if (cap !== undefined) pass.join(room.logits, room.logits, { rows: wanted.length, cap })
    return room.logits
  }

  sample(pass: Pass, sampler: Sampler, rows: readonly SampleRow[]): void {
    if (rows.length > 0) pass.sample(sampler, this.#room.logits, rows)
  }

  /** `wanted`: no other rows are needed after this layer, but that later tokens find their keys and values. */
  #layer(pass: Pass, index: number, wanted?: Int32Array): void {
    const layer = this.#weights.layers[index]!
    const { hidden, qkv, attended, last, lastAttended } = this.#room
    pass.project(layer.qkv.matrix, hidden, qkv, { norm: this.#before(layer.attentionNorm), bias: layer.qkv.bias })
    this.#place(pass, index)
    if (wanted?.length === 0) return
    const { heads, scale, scoreCap: cap, window } = this.#model.layers[index]!
    pass.attend(qkv, this.#cache, index, attended, { heads, scale, cap, window })
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
    const { heads, keyHeads, headSize, queryKeyNorm } = layers[index]!
    const { queryNorm, keyNorm, angles } = this.#weights.layers[index]!
    const { qkv } = this.#room
    if (!queryNorm || !keyNorm) {
      pass.place(qkv, this.#cache, index, { heads, angles })
    } else if (queryKeyNorm === 'head') {
      pass.place(qkv, this.#cache, index, { heads, angles, headNorm: { query: queryNorm, key: keyNorm, epsilon } })
    } else {
      const [queries, keys] = [heads * headSize, keyHeads * headSize]
      pass.join(qkv, qkv, { columns: queries, norm: { weight: queryNorm, epsilon } })
      pass.join(qkv, qkv, { from: queries, columns: keys, norm: { weight: keyNorm, epsilon } })
      pass.place(qkv, this.#cache, index, { heads, angles })
    }
  }

  /** What a layer does with each row by itself. */
  #mix(pass: Pass, layer: LayerWeights, attended: Activations, hidden: Activations, rows: number): void {
    const { inner } = this.#room
    const { gateUp } = layer
    const { gate } = this.#model
    this.#add(pass, layer.output, attended, hidden, rows, layer.attentionAfter)
    const norm = this.#before(layer.mlpNorm)
    pass.project(gateUp.matrix, hidden, inner, { rows, norm, gated: true, gate, bias: gateUp.bias })
    this.#add(pass, layer.down, inner, hidden, rows, layer.mlpAfter)
  }

  /** Adds a product, normed first where the model says so. */
  #add(
    pass: Pass,
    { matrix, bias }: BiasedMatrix,
    x: Activations,
    hidden: Activations,
    rows: number,
    after?: Vector,
  ): void {
    const { apart } = this.#room
    if (!apart) {
      pass.project(matrix, x, hidden, { rows, add: true, bias })
      return
    }
    pass.project(matrix, x, apart, { rows, bias })
    const norm = after && { weight: after, epsilon: this.#model.epsilon }
    pass.join(apart, hidden, { rows, norm, scale: this.#scale, add: true })
  }

  #before(weight: Vector | undefined) {
    return weight && { weight, epsilon: this.#epsilon }
  }

  destroy(): void {
    for (const activations of Object.values(this.#room)) activations.destroy()
  }
}
