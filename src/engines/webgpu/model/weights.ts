/** The decoder's weights on a device. */
import type { Matrix, Vector } from '../contract.js'
import { angleTable } from './angles.js'
import { HostRows } from './host-rows.js'
import type { LayerPlan, MatrixRole, ModelPlan, VectorRole } from './model-plan.js'
import type { PlannedLayer, PlannedMatrix, PlannedTensors } from './planned.js'
import type { TensorLoader } from './tensors.js'

/** A matrix, and what is added to what it makes. */
export interface BiasedMatrix {
  readonly matrix: Matrix
  readonly bias?: Vector
}

export interface LayerWeights {
  readonly matrices: Readonly<Partial<Record<MatrixRole, BiasedMatrix>>>
  readonly vectors: Readonly<Partial<Record<VectorRole, Vector>>>
  /** Of attention. */
  readonly angles?: Vector
}

export interface DecoderWeights {
  readonly embedding: Matrix
  readonly layers: readonly LayerWeights[]
  readonly norm: Vector
  /** The embedding itself where the two are tied. */
  readonly head: Matrix
  readonly beside?: { readonly table: HostRows; readonly product: Matrix; readonly norm: Vector }
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
  const tableOf = (layer: LayerPlan): Vector | undefined => {
    if (layer.kind !== 'attention') return undefined
    const { angles, headSize } = layer
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
  const beside = tensors.beside && {
    table: await HostRows.load(loader.source, tensors.beside.tables, loader.signal),
    product: await loader.matrix(tensors.beside.product),
    norm: await loader.vector(tensors.beside.norm),
  }
  return { embedding, layers, norm, head, ...(beside && { beside }) }
}

async function loadLayer(
  loader: TensorLoader,
  planned: PlannedLayer,
  angles: Vector | undefined,
): Promise<LayerWeights> {
  const matrices: Partial<Record<MatrixRole, BiasedMatrix>> = {}
  const vectors: Partial<Record<VectorRole, Vector>> = {}
  for (const [role, of] of Object.entries(planned.vectors)) vectors[role as VectorRole] = await loader.vector(of)
  for (const [role, of] of Object.entries(planned.matrices)) {
    matrices[role as MatrixRole] = await loadProjection(loader, of, role === 'gateUp')
  }
  return { matrices, vectors, ...(angles && { angles }) }
}

async function loadProjection(loader: TensorLoader, of: PlannedMatrix, gated: boolean): Promise<BiasedMatrix> {
  const matrix = await loader.matrix(of, gated)
  return { matrix, ...(of.bias && { bias: await loader.vector(of.bias) }) }
}
