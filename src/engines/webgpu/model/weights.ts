/** The decoder's weights on a device. */
import type { Matrix, Vector } from '../contract.js'
import { angleTable } from './angles.js'
import { type LayerPlan, type ModelPlan, NORMS, type NormRole } from './model-plan.js'
import type { PlannedLayer, PlannedMatrix, PlannedTensors } from './plan-tensors.js'
import type { TensorLoader } from './tensors.js'

/** A matrix, and what is added to what it makes. */
export interface BiasedMatrix {
  readonly matrix: Matrix
  readonly bias?: Vector
}

export interface LayerWeights {
  readonly attentionNorm?: Vector
  readonly qkv: BiasedMatrix
  readonly queryNorm?: Vector
  readonly keyNorm?: Vector
  readonly output: BiasedMatrix
  readonly attentionAfter?: Vector
  readonly mlpNorm?: Vector
  readonly gateUp: BiasedMatrix
  readonly down: BiasedMatrix
  readonly mlpAfter?: Vector
  readonly angles: Vector
}

export interface DecoderWeights {
  readonly embedding: Matrix
  readonly layers: readonly LayerWeights[]
  readonly norm: Vector
  /** The embedding itself where the two are tied. */
  readonly head: Matrix
}

/** `positions`: for how many angles are made. */
export async function loadWeights(
  loader: TensorLoader,
  model: ModelPlan,
  tensors: PlannedTensors,
  positions: number,
  onLayer?: (done: number, of: number) => void,
): Promise<DecoderWeights> {
  const tables = new Map<string, Vector>()
  /** Layers that turn alike share a table. */
  const tableOf = ({ angles, headSize }: LayerPlan): Vector => {
    const key = JSON.stringify([angles, headSize])
    const table = tables.get(key) ?? loader.floats(angleTable(positions, angles, headSize))
    tables.set(key, table)
    return table
  }
  const embedding = await loader.matrix(tensors.embedding)
  const layers: LayerWeights[] = []
  for (const [i, planned] of tensors.layers.entries()) {
    layers.push(await loadLayer(loader, planned, tableOf(model.layers[i]!)))
    onLayer?.(i + 1, tensors.layers.length)
  }
  const norm = await loader.vector(tensors.norm)
  const head = tensors.head ? await loader.matrix(tensors.head) : embedding
  return { embedding, layers, norm, head }
}

async function loadLayer(loader: TensorLoader, planned: PlannedLayer, angles: Vector): Promise<LayerWeights> {
  const projection = async (of: PlannedMatrix, gated = false): Promise<BiasedMatrix> => ({
    matrix: await loader.matrix(of, gated),
    ...(of.bias && { bias: await loader.vector(of.bias) }),
  })
  const norms: Partial<Record<NormRole, Vector>> = {}
  for (const role of NORMS) {
    const norm = planned[role]
    if (norm) norms[role] = await loader.vector(norm)
  }
  return {
    ...norms,
    qkv: await projection(planned.qkv),
    output: await projection(planned.output),
    gateUp: await projection(planned.gateUp, true),
    down: await projection(planned.down),
    angles,
  }
}
