/** What a pass does, layer by layer, as the model's plan describes it. */
import type { Activations, Batch, Device, Pass, SampleRow, Sampler, Vector } from '../contract.js'
import { embed } from '../operations/embed/index.js'
import { gate as gateRows } from '../operations/gate/index.js'
import { join } from '../operations/join/index.js'
import { pick } from '../operations/pick/index.js'
import type { FeedForward, FeedForwardRoom } from './blocks/feed-forward/feed-forward.js'
import { feedForwardOf } from './blocks/feed-forward/index.js'
import { mixerOf } from './blocks/mixers/index.js'
import type { Mixer, MixerRun } from './blocks/mixers/mixer.js'
import type { SequenceMemory } from './kept.js'
import {
  type Beside,
  type FeedForwardPlan,
  joinsApart,
  type LayerPlan,
  type ModelPlan,
  normsApart,
} from './model-plan.js'
import { roomOf } from './size.js'
import type { BiasedMatrix, DecoderWeights, LayerWeights } from './weights.js'

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
  readonly logits: Activations
  readonly beside?: BesideRoom
}

/** See `Beside`. */
interface BesideRoom {
  /** What the second table has, then all that layers are given. */
  readonly given: Activations
  readonly product: Activations
  /** Of one layer. */
  readonly gated: Activations
  /** Of the rows of which logits are made. */
  readonly last: Activations
}

interface Mixing {
  readonly mixer: Mixer<LayerPlan>
  readonly feedForward: FeedForward<FeedForwardPlan, FeedForwardRoom>
  readonly plan: FeedForwardPlan
  readonly inner: FeedForwardRoom
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
  /** The same for texts beyond the model's border. */
  readonly #mixingLong: readonly Mixing[]
  /**
   * What is added to `hidden` is multiplied by it. Embeddings come as they are, however the model scales them: as
   * everything else reads `hidden` through a norm, it may as well be smaller by that factor throughout. Where something
   * does not, they are scaled at once.
   */
  readonly #scale: number
  readonly #epsilon: number
  /** Layers after it keep nothing of a sequence: no row needs them of which no logits are made. */
  readonly #keeping: number

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
    const { hidden, vocabulary, rowLength, epsilon, embeddingScale = 1, residualScale = 1 } = model
    const folded = model.beside ? 1 : embeddingScale
    this.#scale = residualScale / folded
    this.#epsilon = epsilon / folded ** 2
    this.#keeping = lastKeeping(model)
    const columns = roomOf(model)
    const wide = (widths: Iterable<number>, count: number): Widths =>
      new Map([...widths].map((width) => [width, device.activations(count, width)]))
    this.#room = {
      hidden: device.activations(rows, hidden),
      input: wide(columns.input, rows),
      between: wide(columns.between, rows),
      mixed: wide(columns.mixed, rows),
      inner: this.#innerRoom(device, rows),
      ...(joinsApart(model) && { apart: device.activations(rows, hidden) }),
      ...(normsApart(model) && {
        normed: device.activations(rows, hidden),
        lastNormed: device.activations(wanted, hidden),
      }),
      last: device.activations(wanted, hidden),
      lastMixed: wide(columns.mixed, wanted),
      logits: device.activations(wanted, rowLength ?? vocabulary),
      ...(model.beside && { beside: besideRoom(device, model, model.beside, rows, wanted) }),
    }
    this.#mixing = model.layers.map((_, i) => this.#mixingOf(i, weights.layers[i]!))
    this.#mixingLong = model.layers.map((_, i) => {
      const { longAngles: angles, ...layer } = weights.layers[i]!
      return angles ? this.#mixingOf(i, { ...layer, angles }) : this.#mixing[i]!
    })
  }

  /** Tokens beyond which a text is computed as a long one, by other angles throughout; undefined: there are no others. */
  get border(): number | undefined {
    return this.#weights.layers.some(({ longAngles }) => longAngles) ? this.#model.border : undefined
  }

  /** What its head makes in place of logits has so many numbers; undefined: it makes logits. */
  get rowLength(): number | undefined {
    return this.#model.rowLength
  }

  /** Tokens must be known when a pass is recorded. */
  get needsTokens(): boolean {
    return this.#weights.beside !== undefined
  }

  /** Rows of which no logits are made go through fewer layers, if no others are in their pass. */
  get skipsLayers(): boolean {
    return this.#keeping < this.#model.layers.length - 1
  }

  /**
   * Runs the batch through all layers; `wanted` are the rows of which logits are made, in this order, `long`: all are of
   * texts beyond the border.
   */
  forward(pass: Pass, spans: Batch['spans'], wanted: Int32Array, long = false): Activations {
    const { layers, norm, head } = this.#weights
    const room = this.#room
    this.embed(pass, spans)
    // In a step of decoding all rows are wanted, as they lie.
    const all = wanted.length === pass.rows
    const end = wanted.length === 0 ? this.#keeping : layers.length - 1
    for (let i = 0; i <= end; i++) this.layer(pass, i, i === end && !all ? wanted : undefined, long)
    if (wanted.length === 0) return room.logits
    const from = all ? room.hidden : room.last
    const { matrix, bias } = head
    const last = { weight: norm, epsilon: this.#epsilon }
    const { logitCap: cap, centred } = this.#model
    const rows = wanted.length
    if (centred) {
      pass.run(join, from, room.lastNormed!, { rows, norm: { ...last, centred } })
      pass.project(matrix, room.lastNormed!, room.logits, { rows, bias })
    } else pass.project(matrix, from, room.logits, { rows, norm: last, bias })
    if (cap !== undefined) pass.run(join, room.logits, room.logits, { rows, cap })
    return room.logits
  }

  sample(pass: Pass, sampler: Sampler, rows: readonly SampleRow[]): void {
    if (rows.length > 0 && this.rowLength === undefined) pass.sample(sampler, this.#room.logits, rows)
  }

  /** What the head has made of the first rows that were wanted, where it makes no logits. */
  read(pass: Pass, rows: number): Promise<Float32Array> | undefined {
    return rows > 0 && this.rowLength !== undefined ? pass.read(this.#room.logits, rows) : undefined
  }

  embed(pass: Pass, spans: Batch['spans']): void {
    const { hidden } = this.#room
    pass.run(embed, this.#weights.embedding, hidden)
    if (this.#model.beside) this.#give(pass, spans, this.#model.beside)
  }

  #give(pass: Pass, spans: Batch['spans'], { size: every, scale, sumScale }: Beside): void {
    const { hidden, beside: room } = this.#room
    const { table, product, norm: weight } = this.#weights.beside!
    const { embeddingScale: by = 1, epsilon } = this.#model
    pass.write(room!.given, table.of(spans, scale * sumScale))
    // Of embeddings as they are: the product of what is scaled is divided by as much again.
    pass.project(product, hidden, room!.product)
    pass.run(join, room!.product, room!.given, { every, norm: { weight, epsilon }, scale: sumScale, add: true })
    pass.run(join, hidden, hidden, { scale: by })
  }

  /** All rows of a pass. */
  get hidden(): Activations {
    return this.#room.hidden
  }

  /** They as the last norm leaves them, in place. */
  normed(pass: Pass): Activations {
    const { hidden } = this
    const { centred } = this.#model
    pass.run(join, hidden, hidden, { norm: { weight: this.#weights.norm, epsilon: this.#epsilon, centred } })
    return hidden
  }

  /** `wanted`: no other rows are needed after this layer, but for what it keeps of them. */
  layer(pass: Pass, index: number, wanted?: Int32Array, long = false): void {
    const { hidden, last, beside } = this.#room
    const { mixer, lastMixed, still } = (long ? this.#mixingLong : this.#mixing)[index]!
    const parallel = still.layer.parallel === true
    if (parallel) {
      const { centred } = this.#model
      pass.run(join, hidden, still.hidden, { norm: { ...this.#before(still.weights.vectors.attentionNorm)!, centred } })
    }
    mixer.run({
      pass,
      needed: wanted?.length !== 0,
      layer: still.layer,
      weights: still.weights,
      hidden: still.hidden,
      norm: still.norm,
      epsilon: still.epsilon,
      room: still.room,
      cache: still.cache,
      state: still.state,
    })
    const { mixed } = still.room
    if (!wanted) {
      this.#finish(pass, index, mixed, hidden, parallel ? still.hidden : hidden, pass.rows, beside?.given)
    } else if (wanted.length > 0) {
      pass.run(pick, mixed, wanted, lastMixed)
      pass.run(pick, hidden, wanted, last)
      if (beside) pass.run(pick, beside.given, wanted, beside.last)
      if (parallel) pass.run(pick, still.hidden, wanted, this.#room.lastNormed!)
      this.#finish(pass, index, lastMixed, last, parallel ? this.#room.lastNormed! : last, wanted.length, beside?.last)
    }
  }

  #innerRoom(device: Device, rows: number): Map<string, FeedForwardRoom> {
    const { layers, hidden } = this.#model
    const rooms = new Map<string, FeedForwardRoom>()
    for (const { feedForward } of layers) {
      const key = JSON.stringify(feedForward)
      if (!rooms.has(key)) rooms.set(key, feedForwardOf(feedForward).room(device, feedForward, hidden, rows))
    }
    return rooms
  }

  /** What a layer's mixer is given in every pass alike: steps of small models are short. */
  #mixingOf(index: number, weights: LayerWeights): Mixing {
    const { hidden: columns, layers, epsilon } = this.#model
    const { plan, caches, states } = this.#kept
    const { hidden, normed, input, between, mixed, lastMixed } = this.#room
    const layer = layers[index]!
    const { parallel } = layer
    const mixer = mixerOf(layer)
    const widths = mixer.widths(layer, columns)
    const { cache, state } = plan.layers[index]!
    const { feedForward } = layer
    return {
      mixer,
      feedForward: feedForwardOf(feedForward),
      plan: feedForward,
      inner: this.#room.inner.get(JSON.stringify(feedForward))!,
      lastMixed: lastMixed.get(widths.mixed)!,
      still: {
        layer,
        weights,
        hidden: parallel ? normed! : hidden,
        norm: parallel ? undefined : this.#before(weights.vectors.attentionNorm),
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

  /** What a layer does with each row by itself; `read`: what its feed-forward reads. */
  #finish(
    pass: Pass,
    index: number,
    mixed: Activations,
    hidden: Activations,
    read: Activations,
    rows: number,
    given: Activations | undefined,
  ): void {
    const { gate = 'silu', epsilon, beside } = this.#model
    const weights = this.#weights.layers[index]!
    const { matrices, vectors } = weights
    const { total, mlpAfter, besideAfter } = vectors
    const { feedForward, plan, inner } = this.#mixing[index]!
    this.#add(pass, (matrices.output ?? matrices.mixerOut)!, mixed, hidden, rows, vectors.attentionAfter)
    const last = given ? undefined : total
    feedForward.run({
      pass,
      plan,
      weights,
      room: inner,
      hidden: read,
      rows,
      norm: this.#before(vectors.mlpNorm),
      gate,
      epsilon,
      addProduct: (matrix, x) => this.#add(pass, matrix, x, hidden, rows, mlpAfter, last),
      addRows: (x) => this.#join(pass, x, hidden, rows, mlpAfter, last),
    })
    if (!given) return
    const { gated } = this.#room.beside!
    pass.project(matrices.besideIn!.matrix, hidden, gated, { rows })
    pass.run(gateRows, gated, given, gated, { rows, gate, valuesFrom: index * beside!.size })
    this.#add(pass, matrices.besideOut!, gated, hidden, rows, besideAfter, total)
  }

  /** Adds a product, normed first where the model says so. */
  #add(
    pass: Pass,
    { matrix, bias }: BiasedMatrix,
    x: Activations,
    hidden: Activations,
    rows: number,
    after?: Vector,
    total?: Vector,
  ): void {
    const { apart } = this.#room
    if (!apart) {
      pass.project(matrix, x, hidden, { rows, add: true, bias })
      return
    }
    pass.project(matrix, x, apart, { rows, bias })
    this.#join(pass, apart, hidden, rows, after, total)
  }

  #join(pass: Pass, x: Activations, hidden: Activations, rows: number, after?: Vector, total?: Vector): void {
    const norm = after && { weight: after, epsilon: this.#model.epsilon }
    pass.run(join, x, hidden, { rows, norm, scale: this.#scale, add: true, total })
  }

  #before(weight: Vector | undefined) {
    return weight && { weight, epsilon: this.#epsilon }
  }

  destroy(): void {
    const { beside, ...room } = this.#room
    for (const one of [...Object.values(room), ...Object.values(beside ?? {})]) {
      for (const activations of one instanceof Map ? one.values() : [one]) activations.destroy()
    }
  }
}

function lastKeeping({ layers }: ModelPlan): number {
  return layers.findLastIndex((layer) => layer.kind !== 'attention' || layer.keysOf === undefined)
}

function besideRoom(device: Device, { layers }: ModelPlan, { size }: Beside, rows: number, wanted: number): BesideRoom {
  const wide = layers.length * size
  return {
    given: device.activations(rows, wide),
    product: device.activations(rows, wide),
    gated: device.activations(rows, size),
    last: device.activations(wanted, wide),
  }
}
