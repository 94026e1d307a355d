/**
 * Gemma 4: what each layer is given of a token beside the stream. Rows of a second table, which stays with the host, have a
 * vector for each layer. To it comes a product of the token's scaled embedding, each layer's part normed by itself. A layer
 * ends by adding W2 (gate(W1 x) * its vector), normed.
 */
import {
  type Activations,
  addNorm,
  type Batch,
  type Device,
  gate as gateRows,
  gatherRows,
  type Matrix,
  matmul,
  type Pass,
  type Vector,
} from '../../device/index.js'
import type { Finder } from '../find-tensors.js'
import { HostRows } from '../host-rows.js'
import type { ModelPlan } from '../model-plan.js'
import type { LayerTensors, PlannedLayer, PlannedPerLayer } from '../planned.js'
import type { TensorLoader } from '../tensors.js'

export interface PerLayerWeights {
  readonly table: HostRows
  readonly product: Matrix
  readonly norm: Vector
}

export function planPerLayer(finder: Finder, model: ModelPlan): PlannedPerLayer | undefined {
  const { vocabulary, hidden, layers, perLayer } = model
  if (!perLayer) return undefined
  const wide = layers.length * perLayer.size
  const apart = finder.isPerLayer('perLayerTable')
  return {
    tables: apart
      ? layers.map((_, i) => finder.matrix('perLayerTable', [vocabulary], perLayer.size, i))
      : [finder.matrix('perLayerTable', [vocabulary], wide)],
    product: finder.matrix('perLayerProduct', [wide], hidden),
    norm: finder.vector('perLayerNorm', perLayer.size),
  }
}

/** Of each layer. */
export function planLayerInput(find: LayerTensors, { hidden, perLayer }: ModelPlan): PlannedLayer {
  if (!perLayer) return { matrices: {}, vectors: {} }
  return {
    matrices: {
      perLayerIn: find.matrix('perLayerIn', [perLayer.size], hidden),
      perLayerOut: find.matrix('perLayerOut', [hidden], perLayer.size),
    },
    vectors: { perLayerAfter: find.norm('perLayerAfter', hidden) },
  }
}

export async function loadPerLayer(loader: TensorLoader, planned: PlannedPerLayer): Promise<PerLayerWeights> {
  return {
    table: await HostRows.load(loader.source, planned.tables, loader.signal),
    product: await loader.matrix(planned.product),
    norm: await loader.vector(planned.norm),
  }
}

/** Values that are written for a pass of so many rows. */
export function perLayerValues({ layers, perLayer }: ModelPlan, rows: number, wanted: number): number {
  return perLayer ? (2 * rows + wanted) * layers.length * perLayer.size + rows * perLayer.size : 0
}

export class PerLayerEmbedding {
  readonly #model: ModelPlan
  readonly #weights: PerLayerWeights
  /** What the second table has, then all that layers are given. */
  readonly #given: Activations
  readonly #product: Activations
  /** Of one layer. */
  readonly #gated: Activations
  /** Of the rows of which logits are made. */
  readonly #last: Activations

  constructor(device: Device, model: ModelPlan, weights: PerLayerWeights, rows: number, wanted: number) {
    const { size } = model.perLayer!
    const wide = model.layers.length * size
    this.#model = model
    this.#weights = weights
    this.#given = device.activations(rows, wide)
    this.#product = device.activations(rows, wide)
    this.#gated = device.activations(rows, size)
    this.#last = device.activations(wanted, wide)
  }

  /** Before the first layer; `hidden` are the embeddings as they are stored. */
  begin(pass: Pass, spans: Batch['spans'], hidden: Activations): void {
    const { perLayer, embeddingScale: by = 1, epsilon } = this.#model
    const { size: every, scale, sumScale } = perLayer!
    const { table, product, norm: weight } = this.#weights
    pass.write(this.#given, table.of(spans, scale * sumScale))
    // Of embeddings as they are: the product of what is scaled is divided by as much again.
    pass.run(matmul, product, hidden, this.#product)
    pass.run(addNorm, this.#product, this.#given, { every, norm: { weight, epsilon }, scale: sumScale, add: true })
    pass.run(addNorm, hidden, hidden, { scale: by })
  }

  /** No other rows are needed any more. */
  gatherRows(pass: Pass, wanted: Int32Array): void {
    pass.run(gatherRows, this.#given, wanted, this.#last)
  }

  /** What layer `index` makes of the stream and its vector; `picked`: of the rows that were picked. */
  gated(pass: Pass, index: number, matrix: Matrix, hidden: Activations, rows: number, picked: boolean): Activations {
    const { gate = 'silu', perLayer } = this.#model
    const given = picked ? this.#last : this.#given
    pass.run(matmul, matrix, hidden, this.#gated, { rows })
    pass.run(gateRows, this.#gated, given, this.#gated, { rows, gate, valuesFrom: index * perLayer!.size })
    return this.#gated
  }

  destroy(): void {
    for (const one of [this.#given, this.#product, this.#gated, this.#last]) one.destroy()
  }
}
