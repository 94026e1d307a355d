/** What points, on a device: the decoder's own matrices, with norms, products of low rank and heads of its own. */
import { NOTHINGS } from '../../contract/index.js'
import type { Matrix, Vector } from '../../device/index.js'
import { angleTable } from '../angles.js'
import type { TensorLoader } from '../tensors.js'
import type { DecoderWeights } from '../weights.js'
import type { Adapter } from './adapted-pass.js'
import type { PlannedAdapter, PlannedPointing, PlannedPointingLayer } from './plan-pointing.js'

/** The decoder's matrices that have products beside them. */
const ADAPTED = ['qkv', 'output', 'down'] as const

/** Tokens of one batch, a text's questions among them. It was taught with texts of up to 640. */
export const BATCH_TOKENS = 768

export interface PointingWeights {
  /** The decoder's, under other norms. */
  readonly decoder: DecoderWeights
  readonly adapters: ReadonlyMap<Matrix, Adapter>
  readonly rank: number
  readonly headNorm: Vector
  readonly heads: Matrix
  readonly nothings: Matrix
  /** How much what the decoder would say counts: where a stretch starts, and among options. */
  readonly logitScales: readonly [start: number, option: number]
}

export async function loadPointing(
  loader: TensorLoader,
  planned: PlannedPointing,
  decoder: DecoderWeights,
): Promise<PointingWeights> {
  // The decoder's are for as many positions as a conversation may have, which may be fewer.
  const { turns } = planned
  const angles = loader.floats(angleTable(BATCH_TOKENS, turns.angles, turns.headSize))
  const adapterOf = async ({ into, out }: PlannedAdapter): Promise<Adapter> => {
    const [low, high] = await Promise.all([loader.unpacked(into, false), loader.unpacked(out, true)])
    return { into: low, out: high }
  }
  const ownOf = async (layer: DecoderWeights['layers'][number], { adapters, norms }: PlannedPointingLayer) => {
    const beside = ADAPTED.map(async (role) => {
      return [layer.matrices[role]!.matrix, await adapterOf(adapters[role])] as const
    })
    const [attentionNorm, mlpNorm, ...found] = await Promise.all([
      loader.vector(norms.attentionNorm),
      loader.vector(norms.mlpNorm),
      ...beside,
    ])
    return { layer: { ...layer, angles, vectors: { ...layer.vectors, attentionNorm, mlpNorm } }, adapters: found }
  }
  const layers = await Promise.all(decoder.layers.map((layer, i) => ownOf(layer, planned.layers[i]!)))
  const [start, option] = (await loader.vectorValues(planned.logitScales)) as unknown as [number, number]
  const nothings = await loader.vectorValues(planned.nothings)
  return {
    decoder: { ...decoder, layers: layers.map(({ layer }) => layer), norm: await loader.vector(planned.norm) },
    adapters: new Map(layers.flatMap(({ adapters }) => adapters)),
    rank: planned.layers[0]!.adapters.qkv.into.rows,
    headNorm: await loader.vector(planned.headNorm),
    heads: await loader.matrix(planned.heads),
    nothings: loader.table(nothings, nothings.length / NOTHINGS),
    logitScales: [start, option],
  }
}
