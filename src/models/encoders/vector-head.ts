/** From the rows of a batch to a vector for each text: pooled, then multiplied. */
import {
  type Activations,
  addNorm,
  type Device,
  gatherRows,
  matmul,
  type Pass,
  pool as poolRows,
} from '../../device/index.js'
import type { HeadWeights, Norm, NormedDense } from './encoder-weights.js'
import type { VectorPlan } from './vector-plan.js'

export class VectorHead {
  readonly #plan: VectorPlan
  readonly #dense: readonly NormedDense[]
  /** A row for each text: the pooled one, and the result of each product. */
  readonly #room: readonly Activations[]
  readonly #norm: Norm | undefined

  /** `width`: numbers of a row. `texts`: how many a batch may have. */
  constructor(device: Device, plan: VectorPlan, { dense, norm }: HeadWeights, width: number, texts: number) {
    this.#norm = norm
    this.#plan = plan
    this.#dense = dense
    this.#room = [width, ...plan.dense.map(({ rows }) => rows)].map((columns) => device.activations(texts, columns))
  }

  /** The vectors of texts whose last rows are `lasts`, one after the other. */
  read(pass: Pass, rows: Activations, lasts: Int32Array): Promise<Float32Array> {
    const { pool, dense } = this.#plan
    const [first] = this.#room
    const firsts = () => Int32Array.from(lasts, (_, i) => (i === 0 ? 0 : lasts[i - 1]! + 1))
    if (pool === 'mean') pass.run(poolRows, rows, first!)
    else pass.run(gatherRows, rows, pool === 'first' ? firsts() : lasts, first!)
    const count = lasts.length
    if (this.#norm) pass.run(addNorm, first!, first!, { rows: count, norm: this.#norm })
    dense.forEach(({ tanh, gate }, i) => {
      const { matrix, bias, norm } = this.#dense[i]!
      const out = this.#room[i + 1]!
      pass.run(matmul, matrix, this.#room[i]!, out, { rows: count, bias })
      if (tanh) pass.run(addNorm, out, out, { rows: count, cap: 1 })
      if (gate) pass.run(addNorm, out, out, { rows: count, gate })
      if (norm) pass.run(addNorm, out, out, { rows: count, norm })
    })
    return pass.read(this.#room.at(-1)!, count)
  }

  destroy(): void {
    for (const activations of this.#room) activations.destroy()
  }
}
