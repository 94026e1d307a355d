/** An encoder's weights on a device. */
import type { Centring, Matrix, Vector } from '../contract.js'
import { angleTable } from '../model/angles.js'
import type { PlannedMatrix } from '../model/planned.js'
import type { TensorLoader } from '../model/tensors.js'
import type { PlannedEncoder, PlannedNorm } from './plan-encoder.js'
import type { EncoderPlan } from './vector-plan.js'

export interface Dense {
  readonly matrix: Matrix
  readonly bias?: Vector
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
  const norm = async ({ weight, bias }: PlannedNorm): Promise<Norm> => ({
    weight: await loader.vector(weight),
    bias: await loader.vector(bias),
    epsilon,
    centred: true,
  })
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

async function loadOne(loader: TensorLoader, of: PlannedMatrix): Promise<Dense> {
  return { matrix: await loader.matrix(of), ...(of.bias && { bias: await loader.vector(of.bias) }) }
}

/** What follows the pool. */
export async function loadDense(loader: TensorLoader, planned: readonly PlannedMatrix[]): Promise<Dense[]> {
  const loaded: Dense[] = []
  for (const one of planned) loaded.push(await loadOne(loader, one))
  return loaded
}
