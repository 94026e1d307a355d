/** The decoder's weights on a device. */
import type { Matrix, Vector } from '../device/index.js'
import { allOver, getOrMake } from '../platform/index.js'
import { angleTable } from './angles.js'
import { loadPerLayer, type PerLayerWeights } from './blocks/per-layer-embedding.js'
import type { AttentionLayer, LayerPlan, MatrixRole, ModelPlan, VectorRole } from './model-plan.js'
import type { PlannedDraftHead, PlannedLayer, PlannedMatrix, PlannedTensors } from './planned.js'
import type { TensorLoader } from './tensors.js'

/** A matrix, and what is added to what it makes. */
export interface BiasedMatrix {
  readonly matrix: Matrix
  readonly bias?: Vector
  /** Of experts: the first halves of all come before the second ones. */
  readonly halves?: boolean
}

export interface LayerWeights {
  readonly matrices: Readonly<Partial<Record<MatrixRole, BiasedMatrix>>>
  readonly vectors: Readonly<Partial<Record<VectorRole, Vector>>>
  /** Of attention. */
  readonly angles?: Vector
  /** Of texts beyond the model's border, where they may become so long. */
  readonly longAngles?: Vector
}

export interface DecoderWeights {
  readonly embedding: Matrix
  readonly layers: readonly LayerWeights[]
  readonly norm: Vector
  readonly normBias?: Vector
  /** The embedding itself where the two are tied. */
  readonly head: BiasedMatrix
  readonly perLayer?: PerLayerWeights
  readonly draftHead?: DraftHeadWeights
}

/** Of a head that guesses: see `blocks/draft-head.ts`. */
export interface DraftHeadWeights {
  readonly tokenNorm: Vector
  readonly rowNorm: Vector
  readonly input: Matrix
  readonly layer: LayerWeights
  readonly norm: Vector
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
  const tableOf = ({ angles, headSize }: AttentionLayer, length: number): Vector => {
    const key = JSON.stringify([angles, headSize, length])
    return getOrMake(tables, key, () => loader.floats(angleTable(length, angles, headSize)))
  }
  const { border = Number.POSITIVE_INFINITY } = model
  const anglesOf = (layer: LayerPlan): Pick<LayerWeights, 'angles' | 'longAngles'> => {
    if (layer.kind !== 'attention') return {}
    const angles = tableOf(layer, Math.min(border, positions))
    return positions > border ? { angles, longAngles: tableOf(layer, positions) } : { angles }
  }
  let done = 0
  const [embedding, layers, norm, ownHead, normBias] = await allOver([
    loader.matrix(tensors.embedding),
    allOver(
      tensors.layers.map(async (planned, i) => {
        const layer = await loadLayer(loader, planned, anglesOf(model.layers[i]!))
        onLayer?.(++done, tensors.layers.length)
        return layer
      }),
    ),
    loader.vector(tensors.norm),
    tensors.head && loadProjection(loader, tensors.head, false),
    tensors.normBias && loader.vector(tensors.normBias),
  ] as const)
  const head = ownHead ?? { matrix: embedding }
  const perLayer = tensors.perLayer && (await loadPerLayer(loader, tensors.perLayer))
  const guessing = model.draftHead && tensors.draftHead
  const draftHead = guessing && (await loadDraftHead(loader, guessing, anglesOf(model.draftHead.layer)))
  return {
    ...{ embedding, layers, norm, head },
    ...(normBias && { normBias }),
    ...(perLayer && { perLayer }),
    ...(draftHead && { draftHead }),
  }
}

async function loadDraftHead(
  loader: TensorLoader,
  planned: PlannedDraftHead,
  angles: Pick<LayerWeights, 'angles' | 'longAngles'>,
): Promise<DraftHeadWeights> {
  const [tokenNorm, rowNorm, norm, input, layer] = await allOver([
    loader.vector(planned.tokenNorm),
    loader.vector(planned.rowNorm),
    loader.vector(planned.norm),
    loader.matrix(planned.input),
    loadLayer(loader, planned.layer, angles),
  ] as const)
  return { tokenNorm, rowNorm, norm, input, layer }
}

async function loadLayer(
  loader: TensorLoader,
  planned: PlannedLayer,
  angles: Pick<LayerWeights, 'angles' | 'longAngles'>,
): Promise<LayerWeights> {
  const [vectors, matrices] = await allOver([
    allOver(Object.entries(planned.vectors).map(async ([role, of]) => [role, await loader.vector(of)] as const)),
    allOver(
      Object.entries(planned.matrices).map(
        async ([role, of]) =>
          [role, await loadProjection(loader, of, role === 'gateUp' || role === 'sharedIn')] as const,
      ),
    ),
  ] as const)
  return {
    matrices: Object.fromEntries(matrices),
    vectors: Object.fromEntries(vectors),
    ...angles,
  }
}

async function loadProjection(loader: TensorLoader, of: PlannedMatrix, gated: boolean): Promise<BiasedMatrix> {
  const [matrix, bias] = await allOver([loader.matrix(of, gated), of.bias && loader.vector(of.bias)] as const)
  return { matrix, ...(bias && { bias }), ...(of.experts && { halves: of.experts.halves }) }
}
