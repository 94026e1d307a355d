/** The decoder's weights on a device. */
import type { Matrix, Vector } from '../device/device.js'
import { type Angles, angleTable } from './angles.js'
import type { ModelPlan } from './model-plan.js'
import type { PlannedLayer, PlannedMatrix, PlannedTensors } from './plan-tensors.js'
import type { TensorLoader } from './tensors.js'

/** A matrix, and what is added to what it makes. */
export interface Projection {
  readonly matrix: Matrix
  readonly bias?: Vector
}

export interface LayerWeights {
  readonly attentionNorm: Vector
  readonly qkv: Projection
  readonly queryNorm?: Vector
  readonly keyNorm?: Vector
  readonly output: Projection
  readonly mlpNorm: Vector
  readonly gateUp: Projection
  readonly down: Projection
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
  const tableOf = (angles: Angles): Vector => {
    const key = JSON.stringify(angles)
    const table = tables.get(key) ?? loader.floats(angleTable(positions, angles))
    tables.set(key, table)
    return table
  }
  const embedding = await loader.matrix(tensors.embedding)
  const layers: LayerWeights[] = []
  for (const [i, planned] of tensors.layers.entries()) {
    layers.push(await loadLayer(loader, planned, tableOf(model.layers[i]!.angles)))
    onLayer?.(i + 1, tensors.layers.length)
  }
  const norm = await loader.vector(tensors.norm)
  const head = tensors.head ? await loader.matrix(tensors.head) : embedding
  return { embedding, layers, norm, head }
}

async function loadLayer(loader: TensorLoader, planned: PlannedLayer, angles: Vector): Promise<LayerWeights> {
  const projection = async (of: PlannedMatrix, gated = false): Promise<Projection> => ({
    matrix: await loader.matrix(of, gated),
    ...(of.bias && { bias: await loader.vector(of.bias) }),
  })
  const { queryNorm, keyNorm } = planned
  return {
    attentionNorm: await loader.vector(planned.attentionNorm),
    qkv: await projection(planned.qkv),
    ...(queryNorm && { queryNorm: await loader.vector(queryNorm) }),
    ...(keyNorm && { keyNorm: await loader.vector(keyNorm) }),
    output: await projection(planned.output),
    mlpNorm: await loader.vector(planned.mlpNorm),
    gateUp: await projection(planned.gateUp, true),
    down: await projection(planned.down),
    angles,
  }
}
