/** What a pass does, layer by layer, as the model's plan describes it. */
import {
  type Activations,
  addNorm,
  type Batch,
  type Centring,
  type Device,
  embed,
  gatherRows,
  matmul,
  type Pass,
  type SampleRow,
  type Sampler,
  sample,
  type Vector,
} from '../device/index.js'
import { addsApart, normsApart } from './blocks/arrangement.js'
import { DraftHead } from './blocks/draft-head.js'
import type { FeedForwardRoom } from './blocks/feed-forward/feed-forward.js'
import { feedForwardOf } from './blocks/feed-forward/index.js'
import { Layer, type LayersRoom } from './blocks/layer.js'
import { PerLayerEmbedding } from './blocks/per-layer-embedding.js'
import type { SequenceMemory } from './kept.js'
import type { ModelPlan } from './model-plan.js'
import { layersRoom } from './size.js'
import type { DecoderWeights, LayerWeights } from './weights.js'

interface Room extends LayersRoom {
  readonly logits: Activations
}

export class Decoder {
  readonly #model: ModelPlan
  readonly #weights: DecoderWeights
  readonly #room: Room
  readonly #layers: readonly Layer[]
  /** The same for texts beyond the model's border. */
  readonly #layersLong: readonly Layer[]
  readonly #perLayer: PerLayerEmbedding | undefined
  readonly #draftHead: DraftHead | undefined
  /** Whether the head that guesses reads what is read. */
  readsAlong: boolean
  readonly #lastNorm: { readonly weight: Vector; readonly epsilon: number } & Centring
  /** Rows of logits that there is room for. */
  readonly wanted: number
  /** Tokens beyond which a text is computed as a long one, by other angles throughout; undefined: there are no others. */
  readonly border: number | undefined
  /** What its head makes in place of logits has so many numbers; undefined: it makes logits. */
  readonly rowLength: number | undefined
  /** Tokens must be known when a pass is recorded. */
  readonly needsTokens: boolean
  /** Whether it has a head that guesses. */
  readonly guesses: boolean
  /** All rows of a pass. */
  readonly hidden: Activations
  /** Layers after it keep nothing of a sequence: no row needs them of which no logits are made. */
  readonly #keeping: number

  /** `rows`: tokens of the largest pass. `wanted`: rows of logits that there is room for. */
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
    this.wanted = wanted
    const { hidden, vocabulary, rowLength, epsilon, embeddingScale = 1, residualScale = 1 } = model
    const folded = model.perLayer ? 1 : embeddingScale
    this.#lastNorm = {
      weight: weights.norm,
      epsilon: epsilon / folded ** 2,
      centred: model.centred,
      bias: weights.normBias,
    }
    this.#keeping = lastKeeping(model)
    this.border = weights.layers.some(({ longAngles }) => longAngles) ? model.border : undefined
    this.rowLength = rowLength
    this.needsTokens = weights.perLayer !== undefined
    this.guesses = weights.draftHead !== undefined
    const columns = layersRoom(model)
    const wide = (widths: Iterable<number>, count: number) =>
      new Map([...widths].map((width) => [width, device.activations(count, width)]))
    this.#room = {
      hidden: device.activations(rows, hidden),
      input: wide(columns.input, rows),
      between: wide(columns.between, rows),
      mixed: wide(columns.mixed, rows),
      inner: this.#innerRoom(device, rows),
      ...(addsApart(model) && { apart: device.activations(rows, hidden) }),
      ...(normsApart(model) && {
        normed: device.activations(rows, hidden),
        lastNormed: device.activations(wanted, hidden),
      }),
      last: device.activations(wanted, hidden),
      lastMixed: wide(columns.mixed, wanted),
      logits: device.activations(wanted, rowLength ?? vocabulary),
    }
    this.hidden = this.#room.hidden
    this.#perLayer = weights.perLayer && new PerLayerEmbedding(device, model, weights.perLayer, rows, wanted)
    const by = { scale: residualScale / folded, epsilon: this.#lastNorm.epsilon }
    const { draftHead, embedding, norm } = weights
    const ofHead = { embedding, norm, kept, room: this.#room, by, rows }
    this.#draftHead = draftHead && new DraftHead(device, model, { weights: draftHead, ...ofHead })
    this.readsAlong = this.guesses
    const layer = (i: number, own: LayerWeights) => new Layer(i, model, own, kept, this.#room, by, this.#perLayer)
    this.#layers = weights.layers.map((own, i) => layer(i, own))
    this.#layersLong = weights.layers.map(({ longAngles: angles, ...own }, i) =>
      angles ? layer(i, { ...own, angles }) : this.#layers[i]!,
    )
  }

  /** Rows of which no logits are made go through fewer layers, if no others are in their pass. */
  get skipsLayers(): boolean {
    return !this.readsAlong && this.#keeping < this.#model.layers.length - 1
  }

  /**
   * Runs the batch through all layers; `wanted` are the rows of which logits are made, in this order, `long`: all are of
   * texts beyond the border.
   */
  forward(pass: Pass, spans: Batch['spans'], wanted: Int32Array, long = false): Activations {
    const { layers } = this.#weights
    const room = this.#room
    this.embed(pass, spans)
    // In a step of decoding all rows are wanted, as they lie.
    if (wanted.length === pass.rows) {
      pass.repeated(this, [long, this.readsAlong], () => {
        this.#wholeLayers(pass, long)
        this.#head(pass, room.hidden, wanted.length)
      })
      return room.logits
    }
    if (this.readsAlong) {
      // There every row goes through every layer: the head that guesses reads them all.
      this.#wholeLayers(pass, long)
      if (wanted.length > 0) this.logitsOf(pass, wanted)
      return room.logits
    }
    const end = wanted.length === 0 ? this.#keeping : layers.length - 1
    for (let i = 0; i <= end; i++) this.layer(pass, i, i === end ? wanted : undefined, long)
    if (wanted.length === 0) return room.logits
    return this.#head(pass, room.last, wanted.length)
  }

  /** Runs the batch through all layers, for `logitsOf`. */
  body(pass: Pass, spans: Batch['spans'], long: boolean): void {
    this.embed(pass, spans)
    this.#wholeLayers(pass, long)
  }

  #wholeLayers(pass: Pass, long: boolean): void {
    for (const index of this.#weights.layers.keys()) this.layer(pass, index, undefined, long)
    if (this.readsAlong) this.#draftHead!.read(pass, this.hidden)
  }

  /**
   * Tokens that were not read, one of each sequence, go through the head that guesses: behind what the sequences hold, or
   * behind the `rows` of the last such pass. `drawn`: logits are made.
   */
  guess(pass: Pass, rows: Int32Array | undefined, drawn: boolean): void {
    const head = this.#draftHead!
    const made = rows ? head.next(pass, rows) : head.first(pass)
    const { matrix, bias } = this.#weights.head
    if (drawn) pass.run(matmul, matrix, made, this.#room.logits, { rows: pass.rows, bias })
  }

  /** Logits of these rows of the last `body`, in a later pass that has a row for each, at most `wanted` of them. */
  logitsOf(pass: Pass, rows: Int32Array): Activations {
    const { hidden, last } = this.#room
    pass.run(gatherRows, hidden, rows, last)
    return this.#head(pass, last, rows.length)
  }

  #head(pass: Pass, from: Activations, rows: number): Activations {
    const room = this.#room
    const { matrix, bias } = this.#weights.head
    const { logitCap: cap, centred } = this.#model
    const norm = this.#lastNorm
    if (centred) {
      pass.run(addNorm, from, room.lastNormed!, { rows, norm })
      pass.run(matmul, matrix, room.lastNormed!, room.logits, { rows, bias })
    } else pass.run(matmul, matrix, from, room.logits, { rows, norm, bias })
    if (cap !== undefined) pass.run(addNorm, room.logits, room.logits, { rows, cap })
    return room.logits
  }

  sample(pass: Pass, sampler: Sampler, rows: readonly SampleRow[]): void {
    if (rows.length > 0 && this.rowLength === undefined) pass.run(sample, sampler, this.#room.logits, rows)
  }

  /** What the head has made of the first rows that were wanted, where it makes no logits. */
  read(pass: Pass, rows: number): Promise<Float32Array> | undefined {
    return rows > 0 && this.rowLength !== undefined ? pass.read(this.#room.logits, rows) : undefined
  }

  embed(pass: Pass, spans: Batch['spans']): void {
    const { hidden } = this.#room
    pass.run(embed, this.#weights.embedding, hidden)
    this.#perLayer?.begin(pass, spans, hidden)
  }

  /** All rows of a pass as the last norm leaves them, in place. */
  normed(pass: Pass): Activations {
    const { hidden } = this
    pass.run(addNorm, hidden, hidden, { norm: this.#lastNorm })
    return hidden
  }

  /** `wanted`: no other rows are needed after this layer, but for what it keeps of them. */
  layer(pass: Pass, index: number, wanted?: Int32Array, long = false): void {
    ;(long ? this.#layersLong : this.#layers)[index]!.run(pass, wanted)
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

  destroy(): void {
    this.#perLayer?.destroy()
    this.#draftHead?.destroy()
    for (const one of Object.values(this.#room)) {
      for (const activations of one instanceof Map ? one.values() : [one]) activations.destroy()
    }
  }
}

function lastKeeping({ layers }: ModelPlan): number {
  return layers.findLastIndex((layer) => layer.kind !== 'attention' || layer.keysOf === undefined)
}
