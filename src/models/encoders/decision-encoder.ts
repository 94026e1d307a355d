/** Laya's head over an encoder, or over a decoder that sees both ways: more layers, each of which sees everything, then a score at each mark. */
import {
  type Activations,
  addNorm,
  attend,
  type Device,
  embed,
  type KeyValueCache,
  type Matrix,
  matmul,
  type Pass,
  rope,
  type Vector,
} from '../../device/index.js'
import { angleTable } from '../angles.js'
import type { TensorLoader } from '../tensors.js'
import type { Laid, RowEncoder } from '../vector-core.js'
import { HEAD_EPSILON, type PlannedDecision } from './decision-plan.js'
import { type Dense, loadNorm, loadOne, type Norm } from './encoder-weights.js'
import type { VectorHead } from './vector-head.js'

interface HeadLayer {
  readonly norm: Norm
  readonly qkv: Dense
  readonly output: Dense
  readonly innerNorm: Norm
  readonly inner: Dense
  readonly down: Dense
}

export interface DecisionWeights {
  /** A row for each kind of question. */
  readonly kinds: Matrix
  readonly layers: readonly HeadLayer[]
  /** Angles that turn nothing. */
  readonly still: Vector
}

export async function loadDecision(
  loader: TensorLoader,
  { kinds, layers }: PlannedDecision,
  length: number,
  headSize: number,
): Promise<DecisionWeights> {
  const loaded: HeadLayer[] = []
  for (const layer of layers) {
    loaded.push({
      norm: await loadNorm(loader, layer.norm, HEAD_EPSILON),
      qkv: await loadOne(loader, layer.qkv),
      output: await loadOne(loader, layer.output),
      innerNorm: await loadNorm(loader, layer.innerNorm, HEAD_EPSILON),
      inner: await loadOne(loader, layer.inner),
      down: await loadOne(loader, layer.down),
    })
  }
  const still = loader.floats(angleTable(length, { size: 0, theta: 1 }, headSize))
  return { kinds: await loader.matrix(kinds), layers: loaded, still }
}

/** What it stands on. */
export interface Trunk {
  readonly layers: number
  readonly work: number
  /** Its heads are shared otherwise than the head's. */
  readonly apart?: boolean
  /** `normed`, `qkv` and `seen` are nobody's once its layers are done. */
  readonly room: Readonly<Record<'hidden' | 'normed' | 'qkv' | 'seen', Activations>>
  begin(pass: Pass): void
  layer(pass: Pass, index: number): void
  /** The last norm. */
  finish(pass: Pass): void
  destroy(): void
}

export interface DecisionParts {
  readonly encoder: Trunk
  readonly weights: DecisionWeights
  readonly head: VectorHead
  readonly heads: number
  readonly hidden: number
  readonly cache: KeyValueCache
}

export class DecisionEncoder implements RowEncoder {
  readonly layers: number
  readonly work: number
  readonly border: number | undefined
  readonly #parts: DecisionParts
  readonly #inner: Activations

  /** `rows`: tokens of the largest batch. */
  constructor(device: Device, parts: DecisionParts, rows: number) {
    const { encoder, weights, hidden } = parts
    this.layers = encoder.layers + weights.layers.length
    this.border = encoder.apart ? encoder.layers : undefined
    this.work = Math.max(encoder.work, 12 * hidden * hidden)
    this.#parts = parts
    this.#inner = device.activations(rows, 4 * hidden)
  }

  begin(pass: Pass): void {
    this.#parts.encoder.begin(pass)
  }

  layer(pass: Pass, index: number): void {
    const { encoder, weights, heads, hidden: width, cache } = this.#parts
    const own = index - encoder.layers
    if (own < 0) {
      encoder.layer(pass, index)
      return
    }
    const { hidden, normed, qkv, seen } = encoder.room
    if (own === 0) {
      encoder.finish(pass)
      pass.run(embed, weights.kinds, seen, 'places')
      pass.run(addNorm, seen, hidden, { add: true })
    }
    const layer = weights.layers[own]!
    pass.run(addNorm, hidden, normed, { norm: layer.norm })
    pass.run(matmul, layer.qkv.matrix, normed, qkv, { bias: layer.qkv.bias })
    pass.run(rope, qkv, cache, 0, { heads, angles: weights.still })
    pass.run(attend, qkv, cache, 0, seen, { heads, scale: (width / heads) ** -0.5, causal: false })
    pass.run(matmul, layer.output.matrix, seen, hidden, { bias: layer.output.bias, add: true })
    pass.run(addNorm, hidden, normed, { norm: layer.innerNorm })
    pass.run(matmul, layer.inner.matrix, normed, this.#inner, { bias: layer.inner.bias })
    pass.run(addNorm, this.#inner, this.#inner, { gate: 'relu' })
    pass.run(matmul, layer.down.matrix, this.#inner, hidden, { bias: layer.down.bias, add: true })
  }

  end(pass: Pass, { marks }: Laid): Promise<Float32Array> {
    return this.#parts.head.read(pass, this.#parts.encoder.room.hidden, marks)
  }

  destroy(): void {
    this.#inner.destroy()
    this.#parts.head.destroy()
    this.#parts.encoder.destroy()
  }
}
