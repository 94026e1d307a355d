/** What points, on a device: the decoder's own matrices, with norms, products of low rank and heads of its own. */
import { NOTHINGS } from '../../contract/index.js'
import type { Matrix, Vector } from '../../device/index.js'
import { angleTable } from '../angles.js'
import type { PlannedMatrix } from '../planned.js'
import { toFloats } from '../stored-values.js'
import { readMatrix, type TensorLoader } from '../tensors.js'
import type { DecoderWeights } from '../weights.js'
import type { Adapter } from './adapted-pass.js'
import type { PlannedPointing } from './plan-pointing.js'

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
  readonly said: readonly [start: number, option: number]
}

export async function loadPointing(
  loader: TensorLoader,
  planned: PlannedPointing,
  decoder: DecoderWeights,
): Promise<PointingWeights> {
  const adapters = new Map<Matrix, Adapter>()
  const layers: DecoderWeights['layers'][number][] = []
  // The decoder's are for as many positions as a conversation may have, which may be fewer.
  const { turns } = planned
  const angles = loader.floats(angleTable(BATCH_TOKENS, turns.angles, turns.headSize))
  for (const [i, layer] of decoder.layers.entries()) {
    const own = planned.layers[i]!
    for (const role of ['qkv', 'output', 'down'] as const) {
      const { into, out } = own.adapters[role]
      const values = await floatsOf(loader, into)
      const turned = transposed(await floatsOf(loader, out), out.rows)
      adapters.set(layer.matrices[role]!.matrix, {
        into: loader.table(values, into.columns),
        out: loader.table(turned, out.rows),
      })
    }
    const attentionNorm = await loader.vector(own.norms.attentionNorm)
    const mlpNorm = await loader.vector(own.norms.mlpNorm)
    layers.push({ ...layer, angles, vectors: { ...layer.vectors, attentionNorm, mlpNorm } })
  }
  const [start, option] = (await loader.vectorValues(planned.said)) as unknown as [number, number]
  const nothings = await loader.vectorValues(planned.nothings)
  return {
    decoder: { ...decoder, layers, norm: await loader.vector(planned.norm) },
    adapters,
    rank: planned.layers[0]!.adapters.qkv.into.rows,
    headNorm: await loader.vector(planned.headNorm),
    heads: await loader.matrix(planned.heads),
    nothings: loader.table(nothings, nothings.length / NOTHINGS),
    said: [start, option],
  }
}

/** Of MLC's four bits: value = (code - 7) * scale, eight codes a word, the lowest first. */
async function floatsOf(loader: TensorLoader, planned: PlannedMatrix): Promise<Float32Array> {
  const stored = await readMatrix(loader.source, planned, loader.signal)
  if (stored.format !== 'q4') throw new TypeError(`Factors are stored in four bits, not as ${stored.format}.`)
  const { codes, scales: raw, scaleType: dtype } = stored
  const scales = toFloats({ dtype, data: raw })
  return Float32Array.from({ length: 2 * codes.length }, (_, i) => {
    const code = (codes[i >> 1]! >> (4 * (i & 1))) & 15
    return (code - 7) * scales[i >> 5]!
  })
}

function transposed(values: Float32Array, rows: number): Float32Array {
  const columns = values.length / rows
  return Float32Array.from(values, (_, i) => values[(i % rows) * columns + Math.floor(i / rows)]!)
}
