/** An encoder's weights on a device. */
import type { Centring, Matrix, Vector } from '../../device/index.js'
import { angleTable } from '../angles.js'
import type { PlannedMatrix } from '../planned.js'
import type { TensorLoader } from '../tensors.js'
import type { PlannedDense, PlannedEncoder, PlannedNorm } from './plan-encoder.js'
import type { EncoderPlan, VectorPlan } from './vector-plan.js'

export interface Dense {
  readonly matrix: Matrix
  readonly bias?: Vector
}

/** A product behind the pool, and the norm of its result. */
export interface NormedDense extends Dense {
  readonly norm?: Norm
}

export interface Norm extends Centring {
  readonly weight: Vector
  readonly epsilon: number
  readonly centred: true
}

export interface EncoderLayerWeights {
  readonly qkv: Dense
  readonly output: Dense
  readonly outputNorm: Norm
  readonly inner: Dense
  readonly down: Dense
  readonly downNorm: Norm
}

export interface EncoderWeights {
  readonly words: Matrix
  /** A row for each position of the first text, then for each of the second: its position and its text, added up. */
  readonly places: Matrix
  readonly norm: Norm
  readonly layers: readonly EncoderLayerWeights[]
  /** Angles that turn nothing. */
  readonly still: Vector
}

/** `length`: tokens of the longest text. */
export async function loadEncoder(
  loader: TensorLoader,
  { hidden, heads, epsilon, firstPosition }: EncoderPlan,
  planned: PlannedEncoder,
  length: number,
  onLayer?: (done: number, of: number) => void,
): Promise<EncoderWeights> {
  const dense = (of: PlannedMatrix) => loadOne(loader, of)
  const norm = (of: PlannedNorm) => loadNorm(loader, of, epsilon)
  const words = await loader.matrix(planned.words)
  const positions = await loader.values(planned.positions)
  const types = await loader.values(planned.types)
  const places = new Float32Array(planned.types.rows * length * hidden)
  for (let at = 0; at < places.length; at++) {
    const row = Math.floor(at / hidden)
    const position = firstPosition + (row % length)
    places[at] =
      positions[position * hidden + (at % hidden)]! + types[Math.floor(row / length) * hidden + (at % hidden)]!
  }
  const layers: EncoderLayerWeights[] = []
  const embeddingNorm = await norm(planned.norm)
  for (const [i, layer] of planned.layers.entries()) {
    layers.push({
      qkv: await dense(layer.qkv),
      output: await dense(layer.output),
      outputNorm: await norm(layer.outputNorm),
      inner: await dense(layer.inner),
      down: await dense(layer.down),
      downNorm: await norm(layer.downNorm),
    })
    onLayer?.(i + 1, planned.layers.length)
  }
  return {
    words,
    places: loader.table(places, hidden),
    norm: embeddingNorm,
    layers,
    still: loader.floats(angleTable(length, { size: 0, theta: 1 }, hidden / heads)),
  }
}

export async function loadOne(loader: TensorLoader, of: PlannedMatrix, gated = false): Promise<Dense> {
  return { matrix: await loader.matrix(of, gated), ...(of.bias && { bias: await loader.vector(of.bias) }) }
}

export async function loadNorm(loader: TensorLoader, { weight, bias }: PlannedNorm, epsilon: number): Promise<Norm> {
  const loaded = { weight: await loader.vector(weight), ...(bias && { bias: await loader.vector(bias) }) }
  return { ...loaded, epsilon, centred: true }
}

/** The layers after the pool. */
export interface HeadWeights {
  readonly dense: readonly NormedDense[]
  readonly norm?: Norm
}

export async function loadHead(
  loader: TensorLoader,
  planned: readonly PlannedDense[],
  { dense, norm: first }: VectorPlan,
  pooled?: PlannedNorm,
): Promise<HeadWeights> {
  const loaded: NormedDense[] = []
  for (const [i, one] of planned.entries()) {
    const norm = one.norm && (await loadNorm(loader, one.norm, dense[i]!.norm!.epsilon))
    loaded.push({ ...(await loadOne(loader, one)), ...(norm && { norm }) })
  }
  const norm = pooled && (await loadNorm(loader, pooled, first!.epsilon))
  return { dense: loaded, ...(norm && { norm }) }
}
