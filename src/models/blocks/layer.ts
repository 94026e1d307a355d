/** A layer of a decoder: a mixer and a feed-forward in their arrangement, with what they are given in every pass alike. */
import { type Activations, addNorm, gatherRows, matmul, type Pass, type Vector } from '../../device/index.js'
import type { SequenceMemory } from '../kept.js'
import type { FeedForwardPlan, LayerPlan, ModelPlan, VectorRole } from '../model-plan.js'
import type { BiasedMatrix, LayerWeights } from '../weights.js'
import { type Arrangement, arrangementOf, type NormRole } from './arrangement.js'
import type { FeedForward, FeedForwardRoom } from './feed-forward/feed-forward.js'
import { feedForwardOf } from './feed-forward/index.js'
import { mixerOf } from './mixers/index.js'
import type { Mixer, MixerRun } from './mixers/mixer.js'
import type { PerLayerEmbedding } from './per-layer-embedding.js'

/** By their columns. */
type Widths = ReadonlyMap<number, Activations>

/** Activations, allocated once for the largest pass, which all layers share. */
export interface LayersRoom {
  /** All that has been added up so far, as a multiple of the model's own: see `LayersScale`. */
  readonly hidden: Activations
  /** See `Mixer`. */
  readonly input: Widths
  readonly between: Widths
  readonly mixed: Widths
  /** Of feed-forwards, by their plans. */
  readonly inner: ReadonlyMap<string, FeedForwardRoom>
  /** What the mixer or the MLP gives, where it is not added as it is. */
  readonly apart?: Activations
  /** Rows as they are read, where several read them, and those of which logits are made. */
  readonly normed?: Activations
  readonly lastNormed?: Activations
  /** Rows of which logits are made. */
  readonly last: Activations
  readonly lastMixed: Widths
}

export interface LayersScale {
  /**
   * What is added to `hidden` is multiplied by it. Embeddings come as they are, however the model scales them: as
   * everything else reads `hidden` through a norm, it may as well be smaller by that factor throughout. Where something
   * does not, they are scaled at once.
   */
  readonly scale: number
  /** Of norms of the stream. */
  readonly epsilon: number
}

export class Layer {
  readonly #index: number
  readonly #model: ModelPlan
  readonly #plan: LayerPlan
  readonly #weights: LayerWeights
  readonly #room: LayersRoom
  readonly #by: LayersScale
  readonly #perLayer: PerLayerEmbedding | undefined
  readonly #arrangement: Arrangement
  readonly #mixer: Mixer<LayerPlan>
  readonly #mixing: Omit<MixerRun<LayerPlan>, 'pass' | 'wanted' | 'hidden' | 'norm'>
  readonly #lastMixed: Activations
  readonly #feedForward: FeedForward<FeedForwardPlan, FeedForwardRoom>
  readonly #inner: FeedForwardRoom
  // Of the pass that is recorded.
  #pass!: Pass
  #wanted: Int32Array | undefined
  #rows = 0
  /** The stream, and what is read of it. */
  #hidden!: Activations
  #read!: Activations
  #mixed!: Activations

  constructor(
    index: number,
    model: ModelPlan,
    weights: LayerWeights,
    kept: SequenceMemory,
    room: LayersRoom,
    by: LayersScale,
    perLayer: PerLayerEmbedding | undefined,
  ) {
    const layer = model.layers[index]!
    const { plan, caches, states } = kept
    const { cache, state } = plan.layers[index]!
    this.#index = index
    this.#model = model
    this.#plan = layer
    this.#weights = weights
    this.#room = room
    this.#by = by
    this.#perLayer = perLayer
    this.#arrangement = arrangementOf(layer)
    this.#mixer = mixerOf(layer)
    const widths = this.#mixer.widths(layer, model.hidden)
    this.#lastMixed = room.lastMixed.get(widths.mixed)!
    this.#feedForward = feedForwardOf(layer.feedForward)
    this.#inner = room.inner.get(JSON.stringify(layer.feedForward))!
    this.#mixing = {
      layer,
      weights,
      epsilon: model.epsilon,
      room: {
        input: room.input.get(widths.input)!,
        between: (widths.between ?? []).map((width) => room.between.get(width)!),
        mixed: room.mixed.get(widths.mixed)!,
      },
      cache: cache && { of: caches[cache.index]!, layer: cache.layer },
      state: state === undefined ? undefined : { of: states!, first: state },
    }
  }

  /** `wanted`: no other rows are needed after it, but for what it keeps of them. */
  run(pass: Pass, wanted?: Int32Array): void {
    this.#pass = pass
    this.#wanted = wanted
    this.#rows = wanted ? wanted.length : pass.rows
    this.#hidden = this.#room.hidden
    this.#read = this.#hidden
    const { readsNormed, mixer, feedForward } = this.#arrangement
    if (readsNormed) this.#read = this.#normed(readsNormed, pass.rows)
    this.#mix(mixer.before)
    if (this.#rows > 0) {
      const { matrices } = this.#weights
      this.#add((matrices.output ?? matrices.mixerOut)!, this.#mixed, this.#vector(mixer.after))
      this.#feed(feedForward.before, feedForward.after)
    }
    if (!this.#perLayer || this.#rows === 0) return
    const { matrices, vectors } = this.#weights
    const { matrix } = matrices.perLayerIn!
    const x = this.#perLayer.gated(pass, this.#index, matrix, this.#hidden, this.#rows, wanted !== undefined)
    this.#add(matrices.perLayerOut!, x, vectors.perLayerAfter, vectors.total)
  }

  /** The mixer reads, through a norm if one is named; of rows that nothing else is needed of, nothing is computed any more. */
  #mix(before: NormRole | undefined): void {
    const [pass, wanted, read] = [this.#pass, this.#wanted, this.#read]
    const { layer, weights, epsilon, room, cache, state } = this.#mixing
    this.#mixer.run({ pass, wanted, layer, weights, ...this.#through(before, pass.rows), epsilon, room, cache, state })
    this.#mixed = room.mixed
    if (!wanted || wanted.length === 0) return
    const { hidden, last, lastNormed } = this.#room
    this.#mixed = this.#lastMixed
    this.#hidden = last
    pass.run(gatherRows, room.mixed, wanted, this.#mixed)
    pass.run(gatherRows, hidden, wanted, last)
    this.#perLayer?.gatherRows(pass, wanted)
    this.#read = read === hidden ? last : lastNormed!
    if (read !== hidden) pass.run(gatherRows, read, wanted, lastNormed!)
  }

  /** The feed-forward reads, and what it gives is added. */
  #feed(before: NormRole | undefined, after: NormRole | undefined): void {
    const { gate = 'silu', epsilon } = this.#model
    const by = this.#vector(after)
    const total = this.#perLayer ? undefined : this.#weights.vectors.total
    this.#feedForward.run({
      ...{ pass: this.#pass, plan: this.#plan.feedForward, weights: this.#weights, room: this.#inner },
      ...{ ...this.#through(before, this.#rows), rows: this.#rows, gate, epsilon },
      addProduct: (matrix, x) => this.#add(matrix, x, by, total),
      addRows: (x) => this.#addNorm(x, by, total),
    })
  }

  #vector(role: VectorRole | undefined): Vector | undefined {
    return role && this.#weights.vectors[role]
  }

  #before(role: NormRole | undefined) {
    const weight = this.#vector(role)
    return weight && { weight, epsilon: this.#by.epsilon }
  }

  /** What is read, and the norm that it still goes through. */
  #through(before: NormRole | undefined, rows: number) {
    if (!before || !this.#model.centred) return { hidden: this.#read, norm: this.#before(before) }
    return { hidden: this.#normed(before, rows), norm: undefined }
  }

  #normed(by: NormRole, rows: number): Activations {
    const { normed } = this.#room
    const { centred } = this.#model
    const norm = { ...this.#before(by)!, centred, bias: this.#vector(`${by}Bias`) }
    this.#pass.run(addNorm, this.#read, normed!, { rows, norm })
    return normed!
  }

  /** Adds a product, normed first where the model says so. */
  #add({ matrix, bias }: BiasedMatrix, x: Activations, after?: Vector, total?: Vector): void {
    const { apart } = this.#room
    const rows = this.#rows
    if (!apart) {
      this.#pass.run(matmul, matrix, x, this.#hidden, { rows, add: true, bias })
      return
    }
    this.#pass.run(matmul, matrix, x, apart, { rows, bias })
    this.#addNorm(apart, after, total)
  }

  #addNorm(x: Activations, after?: Vector, total?: Vector): void {
    const norm = after && { weight: after, epsilon: this.#model.epsilon }
    this.#pass.run(addNorm, x, this.#hidden, { rows: this.#rows, norm, scale: this.#by.scale, add: true, total })
  }
}
