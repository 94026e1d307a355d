/** A ModernBERT's weights on a device, and its passes layer by layer. */
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
import { getOrMake } from '../../platform/index.js'
import { angleTable } from '../angles.js'
import type { TensorLoader } from '../tensors.js'
import type { Laid, RowEncoder } from '../vector-core.js'
import { type Dense, loadNorm, loadOne, type Norm } from './encoder-weights.js'
import type { ModernPlan, PlannedModern } from './modern-bert.js'
import type { VectorHead } from './vector-head.js'

interface ModernLayerWeights {
  readonly norm?: Norm
  readonly qkv: Dense
  readonly output: Dense
  readonly innerNorm: Norm
  readonly inner: Dense
  readonly down: Dense
  readonly angles: Vector
}

export interface ModernWeights {
  readonly words: Matrix
  readonly norm: Norm
  readonly layers: readonly ModernLayerWeights[]
  readonly last: Norm
}

/** `length`: tokens of the longest text. */
export async function loadModern(
  loader: TensorLoader,
  { hidden, heads, epsilon, layers }: ModernPlan,
  planned: PlannedModern,
  length: number,
  onLayer?: (done: number, of: number) => void,
): Promise<ModernWeights> {
  const tables = new Map<number, Vector>()
  const anglesOf = (theta: number) =>
    getOrMake(tables, theta, () => loader.floats(angleTable(length, { size: hidden / heads, theta })))
  const words = await loader.matrix(planned.words)
  const norm = await loadNorm(loader, planned.norm, epsilon)
  const loaded: ModernLayerWeights[] = []
  for (const [i, layer] of planned.layers.entries()) {
    loaded.push({
      ...(layer.norm && { norm: await loadNorm(loader, layer.norm, epsilon) }),
      qkv: await loadOne(loader, layer.qkv),
      output: await loadOne(loader, layer.output),
      innerNorm: await loadNorm(loader, layer.innerNorm, epsilon),
      inner: await loadOne(loader, layer.inner, true),
      down: await loadOne(loader, layer.down),
      angles: anglesOf(layers[i]!.theta),
    })
    onLayer?.(i + 1, planned.layers.length)
  }
  return { words, norm, layers: loaded, last: await loadNorm(loader, planned.last, epsilon) }
}

export interface ModernParts {
  readonly plan: ModernPlan
  /** Absent: another head follows. */
  readonly head?: VectorHead
  readonly weights: ModernWeights
  /** Of one layer: no layer needs keys and values of another. */
  readonly cache: KeyValueCache
}

export class ModernEncoder implements RowEncoder {
  readonly layers: number
  /** Multiplications of a row in one layer, attention aside. */
  readonly work: number
  readonly #parts: ModernParts
  readonly room: Readonly<Record<'hidden' | 'normed' | 'qkv' | 'seen' | 'inner', Activations>>

  /** `rows`: tokens of the largest batch. */
  constructor(device: Device, parts: ModernParts, rows: number) {
    const { hidden, intermediate, layers } = parts.plan
    this.layers = layers.length
    this.work = hidden * (4 * hidden + 3 * intermediate)
    this.#parts = parts
    this.room = {
      hidden: device.activations(rows, hidden),
      normed: device.activations(rows, hidden),
      qkv: device.activations(rows, 3 * hidden),
      seen: device.activations(rows, hidden),
      inner: device.activations(rows, intermediate),
    }
  }

  begin(pass: Pass): void {
    const { words, norm } = this.#parts.weights
    const { hidden } = this.room
    pass.run(embed, words, hidden)
    pass.run(addNorm, hidden, hidden, { norm })
  }

  layer(pass: Pass, index: number): void {
    const { plan, weights, cache } = this.#parts
    const { heads, gate, hidden: width } = plan
    const { hidden, normed, qkv, seen, inner } = this.room
    const { norm, innerNorm, angles, ...layer } = weights.layers[index]!
    if (norm) pass.run(addNorm, hidden, normed, { norm })
    pass.run(matmul, layer.qkv.matrix, norm ? normed : hidden, qkv)
    pass.run(rope, qkv, cache, 0, { heads, angles })
    const { window } = plan.layers[index]!
    pass.run(attend, qkv, cache, 0, seen, { heads, scale: (width / heads) ** -0.5, causal: false, window })
    pass.run(matmul, layer.output.matrix, seen, hidden, { add: true })
    pass.run(addNorm, hidden, normed, { norm: innerNorm })
    pass.run(matmul, layer.inner.matrix, normed, inner, { gated: true, gate })
    pass.run(matmul, layer.down.matrix, inner, hidden, { add: true })
  }

  /** The last norm. */
  finish(pass: Pass): void {
    const { hidden } = this.room
    pass.run(addNorm, hidden, hidden, { norm: this.#parts.weights.last })
  }

  end(pass: Pass, { lasts }: Laid): Promise<Float32Array> {
    this.finish(pass)
    return this.#parts.head!.read(pass, this.room.hidden, lasts)
  }

  destroy(): void {
    for (const activations of Object.values(this.room)) activations.destroy()
    this.#parts.head?.destroy()
  }
}
