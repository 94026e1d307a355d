/** The passes of an encoder, layer by layer. */
import {
  type Activations,
  addNorm,
  attend,
  type Device,
  embed,
  type KeyValueCache,
  matmul,
  type Pass,
  rope,
} from '../../device/index.js'
import type { Laid, RowEncoder } from '../vector-core.js'
import type { Dense, EncoderWeights, Norm } from './encoder-weights.js'
import type { VectorHead } from './vector-head.js'
import type { EncoderPlan } from './vector-plan.js'

/** Activations, allocated once for the largest batch. */
interface Room {
  readonly hidden: Activations
  readonly qkv: Activations
  readonly seen: Activations
  readonly inner: Activations
}

export interface EncoderParts {
  readonly plan: EncoderPlan
  readonly head: VectorHead
  readonly weights: EncoderWeights
  /** Of one layer: no layer needs keys and values of another. */
  readonly cache: KeyValueCache
}

export class BertEncoder implements RowEncoder {
  readonly #parts: EncoderParts
  readonly #room: Room

  /** `rows`: tokens of the largest batch. */
  constructor(device: Device, parts: EncoderParts, rows: number) {
    const { hidden, intermediate } = parts.plan
    this.#parts = parts
    this.#room = {
      hidden: device.activations(rows, hidden),
      qkv: device.activations(rows, 3 * hidden),
      seen: device.activations(rows, hidden),
      inner: device.activations(rows, intermediate),
    }
  }

  /** Multiplications of a row in one layer, attention aside. */
  get work(): number {
    const { hidden, intermediate } = this.#parts.plan
    return hidden * (4 * hidden + 2 * intermediate)
  }

  get layers(): number {
    return this.#parts.plan.layers
  }

  begin(pass: Pass): void {
    const { words, places, norm } = this.#parts.weights
    const { hidden, seen } = this.#room
    pass.run(embed, words, hidden)
    pass.run(embed, places, seen, 'places')
    pass.run(addNorm, seen, hidden, { add: true })
    pass.run(addNorm, hidden, hidden, { norm })
  }

  layer(pass: Pass, index: number): void {
    const { plan, weights, cache } = this.#parts
    const { heads, hidden: width, gate } = plan
    const { hidden, qkv, seen, inner } = this.#room
    const layer = weights.layers[index]!
    pass.run(matmul, layer.qkv.matrix, hidden, qkv, { bias: layer.qkv.bias })
    pass.run(rope, qkv, cache, 0, { heads, angles: weights.still })
    pass.run(attend, qkv, cache, 0, seen, { heads, scale: (width / heads) ** -0.5, causal: false })
    this.#add(pass, layer.output, seen, layer.outputNorm)
    pass.run(matmul, layer.inner.matrix, hidden, inner, { bias: layer.inner.bias })
    pass.run(addNorm, inner, inner, { gate })
    this.#add(pass, layer.down, inner, layer.downNorm)
  }

  /** All that has been added up so far is normed anew each time. */
  #add(pass: Pass, { matrix, bias }: Dense, x: Activations, norm: Norm): void {
    const { hidden } = this.#room
    pass.run(matmul, matrix, x, hidden, { bias, add: true })
    pass.run(addNorm, hidden, hidden, { norm })
  }

  end(pass: Pass, { lasts }: Laid): Promise<Float32Array> {
    return this.#parts.head.read(pass, this.#room.hidden, lasts)
  }

  destroy(): void {
    for (const activations of Object.values(this.#room)) activations.destroy()
    this.#parts.head.destroy()
  }
}
