/** What the passes of an encoder do, layer by layer. */
import type { Activations, Device, KeyValueCache, Pass } from '../contract.js'
import type { Dense, EncoderWeights, Norm } from './encoder-weights.js'
import type { EncoderPlan, VectorPlan } from './vector-plan.js'

/** Activations, allocated once for the largest batch. */
interface Room {
  readonly hidden: Activations
  readonly qkv: Activations
  readonly seen: Activations
  readonly inner: Activations
  /** A row for each text: what was pooled, and what each product makes of it. */
  readonly pooled: readonly Activations[]
}

export interface EncoderParts {
  readonly plan: EncoderPlan
  readonly vectors: VectorPlan
  readonly weights: EncoderWeights
  /** Of one layer: no layer needs keys and values of another. */
  readonly cache: KeyValueCache
}

export class BertEncoder {
  readonly #parts: EncoderParts
  readonly #room: Room

  /** `rows`: tokens of the largest batch. `texts`: how many it may have. */
  constructor(device: Device, parts: EncoderParts, rows: number, texts: number) {
    const { hidden, intermediate } = parts.plan
    this.#parts = parts
    this.#room = {
      hidden: device.activations(rows, hidden),
      qkv: device.activations(rows, 3 * hidden),
      seen: device.activations(rows, hidden),
      inner: device.activations(rows, intermediate),
      pooled: [hidden, ...parts.vectors.dense.map(({ rows }) => rows)].map((width) => device.activations(texts, width)),
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
    pass.embed(words, hidden)
    pass.embed(places, seen, 'places')
    pass.join(seen, hidden, { add: true })
    pass.join(hidden, hidden, { norm })
  }

  layer(pass: Pass, index: number): void {
    const { plan, weights, cache } = this.#parts
    const { heads, hidden: width, gate } = plan
    const { hidden, qkv, seen, inner } = this.#room
    const layer = weights.layers[index]!
    pass.project(layer.qkv.matrix, hidden, qkv, { bias: layer.qkv.bias })
    pass.place(qkv, cache, 0, { heads, angles: weights.still })
    pass.attend(qkv, cache, 0, seen, { heads, scale: (width / heads) ** -0.5, causal: false })
    this.#add(pass, layer.output, seen, layer.outputNorm)
    pass.project(layer.inner.matrix, hidden, inner, { bias: layer.inner.bias })
    pass.join(inner, inner, { gate })
    this.#add(pass, layer.down, inner, layer.downNorm)
  }

  /** All that has been added up so far is normed anew each time. */
  #add(pass: Pass, { matrix, bias }: Dense, x: Activations, norm: Norm): void {
    const { hidden } = this.#room
    pass.project(matrix, x, hidden, { bias, add: true })
    pass.join(hidden, hidden, { norm })
  }

  /** The vectors of the texts, whose last rows are `lasts`: a row each. */
  end(pass: Pass, lasts: Int32Array): Promise<Float32Array> {
    const { vectors, weights } = this.#parts
    const { hidden, pooled } = this.#room
    const [first] = pooled
    const firsts = () => Int32Array.from(lasts, (_, i) => (i === 0 ? 0 : lasts[i - 1]! + 1))
    if (vectors.pool === 'mean') pass.pool(hidden, first!)
    else pass.pick(hidden, vectors.pool === 'first' ? firsts() : lasts, first!)
    const rows = lasts.length
    vectors.dense.forEach(({ tanh }, i) => {
      const { matrix, bias } = weights.dense[i]!
      const out = pooled[i + 1]!
      pass.project(matrix, pooled[i]!, out, { rows, bias })
      if (tanh) pass.join(out, out, { rows, cap: 1 })
    })
    return pass.read(pooled.at(-1)!, rows)
  }

  destroy(): void {
    const { pooled, ...rest } = this.#room
    for (const activations of [...Object.values(rest), ...pooled]) activations.destroy()
  }
}
