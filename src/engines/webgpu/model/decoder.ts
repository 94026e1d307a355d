/** What a pass does, layer by layer, as the model's plan describes it. */
import type { Activations, Device, Pass, SampleRow, Sampler, Vector } from '../contract.js'
import type { SequenceMemory } from './kept.js'
import { mixerOf } from './mixers/index.js'
import type { Mixer, MixerRun } from './mixers/mixer.js'
import { joinsApart, type LayerPlan, type ModelPlan } from './model-plan.js'
import { roomOf } from './size.js'
import type { BiasedMatrix, DecoderWeights } from './weights.js'

/** By their columns. */
type Widths = ReadonlyMap<number, Activations>

/** Activations, allocated once for the largest pass. */
interface Room {
  /** All that has been added up so far, as a multiple of the model's own: see `#scale`. */
  readonly hidden: Activations
  /** See `Mixer`. */
  readonly input: Widths
  readonly between: Widths
  readonly mixed: Widths
  readonly inner: Widths
  /** What the mixer or the MLP gives, where it is not added as it is. */
  readonly apart?: Activations
  /** Rows of which logits are made. */
  readonly last: Activations
  readonly lastMixed: Widths
  readonly logits: Activations
}

interface Mixing {
  readonly mixer: Mixer<LayerPlan>
  readonly lastMixed: Activations
  readonly still: Omit<MixerRun<LayerPlan>, 'pass' | 'needed'>
}

export class Decoder {
  readonly #model: ModelPlan
  readonly #weights: DecoderWeights
  readonly #kept: SequenceMemory
  readonly #room: Room
  /** By layer. */
  readonly #mixing: readonly Mixing[]
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
    kept: SequenceMemory,
    rows: number,
    wanted: number,
  ) {
    this.#model = model
    this.#weights = weights
    this.#kept = kept
    const { hidden, vocabulary, epsilon, embeddingScale = 1, residualScale = 1 } = model
    this.#scale = residualScale / embeddingScale
    this.#epsilon = epsilon / embeddingScale ** 2
    const columns = roomOf(model)
    const wide = (widths: Iterable<number>, count: number): Widths =>
      new Map([...widths].map((width) => [width, device.activations(count, width)]))
    this.#room = {
      hidden: device.activations(rows, hidden),
      input: wide(columns.input, rows),
      between: wide(columns.between, rows),
      mixed: wide(columns.mixed, rows),
      inner: wide(columns.inner, rows),
      ...(joinsApart(model) && { apart: device.activations(rows, hidden) }),
      last: device.activations(wanted, hidden),
      lastMixed: wide(columns.mixed, wanted),
      logits: device.activations(wanted, vocabulary),
    }
    this.#mixing = model.layers.map((_, i) => this.#mixingOf(i))
  }

  /** Runs the batch through all layers; `wanted` are the rows of which logits are made, in this order. */
  forward(pass: Pass, wanted: Int32Array): Activations {
    const { layers, norm, head } = this.#weights
    const room = this.#room
    this.embed(pass)
    // In a step of decoding all rows are wanted, as they lie.
    const all = wanted.length === pass.rows
    layers.forEach((_, i) => {
      const keeps = i === layers.length - 1 && !all
      this.layer(pass, i, keeps ? wanted : undefined)
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

  embed(pass: Pass): void {
    pass.embed(this.#weights.embedding, this.#room.hidden)
  }

  /** All rows as the last norm leaves them, in place. */
  normed(pass: Pass): Activations {
    const { hidden } = this.#room
    pass.join(hidden, hidden, { norm: { weight: this.#weights.norm, epsilon: this.#epsilon } })
    return hidden
  }

  /** `wanted`: no other rows are needed after this layer, but for what it keeps of them. */
  layer(pass: Pass, index: number, wanted?: Int32Array): void {
    const { last } = this.#room
    const { mixer, lastMixed, still } = this.#mixing[index]!
    const { hidden } = still
    mixer.run({
      pass,
      needed: wanted?.length !== 0,
      layer: still.layer,
      weights: still.weights,
      hidden,
      norm: still.norm,
      epsilon: still.epsilon,
      room: still.room,
      cache: still.cache,
      state: still.state,
    })
    const { mixed } = still.room
    if (!wanted) {
      this.#finish(pass, index, mixed, hidden, pass.rows)
    } else if (wanted.length > 0) {
      pass.pick(mixed, wanted, lastMixed)
      pass.pick(hidden, wanted, last)
      this.#finish(pass, index, lastMixed, last, wanted.length)
    }
  }

  /** What a layer's mixer is given in every pass alike: steps of small models are short. */
  #mixingOf(index: number): Mixing {
    const { hidden: columns, layers, epsilon } = this.#model
    const { plan, caches, states } = this.#kept
    const { hidden, input, between, mixed, lastMixed } = this.#room
    const layer = layers[index]!
    const weights = this.#weights.layers[index]!
    const mixer = mixerOf(layer)
    const widths = mixer.widths(layer, columns)
    const { cache, state } = plan.layers[index]!
    return {
      mixer,
      lastMixed: lastMixed.get(widths.mixed)!,
      still: {
        layer,
        weights,
        hidden,
        norm: this.#before(weights.vectors.attentionNorm),
        epsilon,
        room: {
          input: input.get(widths.input)!,
          between: (widths.between ?? []).map((width) => between.get(width)!),
          mixed: mixed.get(widths.mixed)!,
        },
        cache: cache && { of: caches[cache.index]!, layer: cache.layer },
        state: state === undefined ? undefined : { of: states!, first: state },
      },
    }
  }

  /** What a layer does with each row by itself. */
  #finish(pass: Pass, index: number, mixed: Activations, hidden: Activations, rows: number): void {
    const { layers, gate } = this.#model
    const { matrices, vectors } = this.#weights.layers[index]!
    const inner = this.#room.inner.get(layers[index]!.intermediate)!
    this.#add(pass, (matrices.output ?? matrices.mixerOut)!, mixed, hidden, rows, vectors.attentionAfter)
    const { matrix, bias } = matrices.gateUp!
    pass.project(matrix, hidden, inner, { rows, norm: this.#before(vectors.mlpNorm), gated: true, gate, bias })
    this.#add(pass, matrices.down!, inner, hidden, rows, vectors.mlpAfter)
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
    for (const one of Object.values(this.#room)) {
      for (const activations of one instanceof Map ? one.values() : [one]) activations.destroy()
    }
  }
}
