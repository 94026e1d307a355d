/**
 * A head that guesses: given a token and the row that the model has made of the token before it, it tells what comes after
 * that token, as the model itself will once it has read it. Both are normed, stand side by side (the token first) and are
 * joined by a product; a layer of its own follows, whose attention sees what came of the tokens before, then a norm, and
 * the model's own table tells logits. Of a text's first token there is no row before: zeros stand for it.
 *
 * Whatever the model reads, the head's layer is given too, for its keys and values: see `read`. A guess is a token that
 * the model has not read, see `first`; one more guess goes on from what the head itself has made, see `next`.
 */
import {
  type Activations,
  addNorm,
  type Device,
  embed,
  gatherRows,
  type Matrix,
  matmul,
  type Pass,
  tokenShift,
  type Vector,
} from '../../device/index.js'
import type { SequenceMemory } from '../kept.js'
import type { ModelPlan } from '../model-plan.js'
import type { DraftHeadWeights } from '../weights.js'
import { Layer, type LayersRoom, type LayersScale } from './layer.js'

const NONE = new Int32Array(0)

export interface DraftHeadParts {
  readonly weights: DraftHeadWeights
  readonly embedding: Matrix
  /** The model's last norm. */
  readonly norm: Vector
  readonly kept: SequenceMemory
  readonly room: LayersRoom
  readonly by: LayersScale
  /** Of the largest pass. */
  readonly rows: number
}

export class DraftHead {
  readonly #parts: DraftHeadParts
  readonly #hidden: number
  readonly #layer: Layer
  /** The layer's stream, and what it begins with. */
  readonly #stream: Activations
  readonly #joined: Activations
  /** Rows as the last norm leaves them, the model's or its own; and for each row the one before. */
  readonly #normed: Activations
  readonly #before: Activations

  constructor(device: Device, model: ModelPlan, parts: DraftHeadParts) {
    const { rows, weights, kept, room, by } = parts
    const { hidden, layers, draftHead } = model
    this.#parts = parts
    this.#hidden = hidden
    this.#stream = device.activations(rows, hidden)
    this.#joined = device.activations(rows, 2 * hidden)
    this.#normed = device.activations(rows, hidden)
    this.#before = device.activations(rows, hidden)
    const whole = { ...model, layers: [...layers, draftHead!.layer] }
    this.#layer = new Layer(layers.length, whole, weights.layer, kept, { ...room, hidden: this.#stream }, by, undefined)
  }

  /** After all layers of a pass: the head has read its tokens too, and what it begins its guesses with is kept. */
  read(pass: Pass, hidden: Activations): void {
    const { norm, by } = this.#parts
    pass.run(addNorm, hidden, this.#normed, { norm: { weight: norm, epsilon: by.epsilon } })
    this.#tokenShift(pass, true)
    this.#begin(pass)
    this.#layer.run(pass, NONE)
  }

  /** What it makes of tokens, one of each sequence, that the model has not read: rows as its last norm leaves them. */
  first(pass: Pass): Activations {
    this.#tokenShift(pass, false)
    return this.#guess(pass)
  }

  /** As `first`, one token further: `rows` of the pass before, in the order of the sequences. */
  next(pass: Pass, rows: Int32Array): Activations {
    pass.run(gatherRows, this.#normed, rows, this.#before)
    return this.#guess(pass)
  }

  #tokenShift(pass: Pass, keeps: boolean): void {
    const { kept } = this.#parts
    pass.run(tokenShift, this.#normed, kept.states!, kept.plan.row!, this.#before, { keeps })
  }

  #begin(pass: Pass): void {
    const { weights, embedding, by } = this.#parts
    const { epsilon } = by
    pass.run(embed, embedding, this.#stream)
    pass.run(addNorm, this.#stream, this.#joined, { norm: { weight: weights.tokenNorm, epsilon } })
    pass.run(addNorm, this.#before, this.#joined, { into: this.#hidden, norm: { weight: weights.rowNorm, epsilon } })
    pass.run(matmul, weights.input, this.#joined, this.#stream)
  }

  #guess(pass: Pass): Activations {
    const { weights, by } = this.#parts
    this.#begin(pass)
    this.#layer.run(pass)
    pass.run(addNorm, this.#stream, this.#normed, { norm: { weight: weights.norm, epsilon: by.epsilon } })
    return this.#normed
  }

  destroy(): void {
    for (const one of [this.#stream, this.#joined, this.#normed, this.#before]) one.destroy()
  }
}
