/** Tensors of a repository as the decoder's matrices and vectors. */
import { V1Error } from '../../../errors.js'
import type { Device, Matrix, MatrixData, Vector } from '../device/device.js'
import { Q4_BLOCK } from '../device/device.js'
import type { RawTensor, WeightSource } from '../weights/source.js'
import { halfToFloat } from './half.js'

/** A matrix by its name without suffix: `name.q_weight` and `name.q_scale`, or `name.weight`. */
export async function readMatrix(source: WeightSource, name: string, signal?: AbortSignal): Promise<MatrixData> {
  if (source.has(`${name}.q_weight`)) return readQuantised(source, name, signal)
  const tensor = await source.read(`${name}.weight`, signal)
  const [rows, columns] = tensor.shape
  if (tensor.shape.length !== 2 || tensor.dtype === 'u32') throw malformed(tensor, 'a matrix of f32, f16 or bf16')
  const size = tensor.dtype === 'f32' ? 4 : 2
  if (tensor.data.byteLength !== rows! * columns! * size) throw malformed(tensor, `${rows! * columns! * size} bytes`)
  return { format: tensor.dtype, rows: rows!, columns: columns!, data: tensor.data }
}

async function readQuantised(source: WeightSource, name: string, signal?: AbortSignal): Promise<MatrixData> {
  const codes = await source.read(`${name}.q_weight`, signal)
  const scales = await source.read(`${name}.q_scale`, signal)
  const [rows, words] = codes.shape
  const columns = words! * 8
  if (codes.shape.length !== 2 || codes.dtype !== 'u32' || columns % Q4_BLOCK !== 0) {
    throw malformed(codes, 'u32 [rows][columns / 8]')
  }
  const [scaleRows, blocks] = scales.shape
  if (scaleRows !== rows || blocks !== columns / Q4_BLOCK) throw malformed(scales, `[${rows}][${columns / Q4_BLOCK}]`)
  if (scales.dtype !== 'f16' && scales.dtype !== 'f32') throw malformed(scales, 'f16 or f32')
  return { format: 'q4', rows: rows!, columns, codes: codes.data, scales: scales.data, scaleType: scales.dtype }
}

/** Brings tensors to a device, checked against what the configuration demands. */
export class TensorLoader {
  readonly source: WeightSource
  readonly #device: Device
  readonly #signal: AbortSignal | undefined
  /** Everything made so far, so that a failure half-way can free it. */
  readonly made: { destroy(): void }[] = []

  constructor(device: Device, source: WeightSource, signal?: AbortSignal) {
    this.#device = device
    this.source = source
    this.#signal = signal
  }

  async matrix(name: string, shape: readonly [number, number], gated = false): Promise<Matrix> {
    this.#signal?.throwIfAborted()
    const data = await readMatrix(this.source, name, this.#signal)
    if (data.rows !== shape[0] || data.columns !== shape[1]) throw mismatch(name, [data.rows, data.columns], shape)
    return this.#keep(this.#device.matrix(data, { gated }))
  }

  async vector(name: string, length: number): Promise<Vector> {
    const values = toFloats(await this.source.read(name, this.#signal))
    if (values.length !== length) throw mismatch(name, [values.length], [length])
    return this.floats(values)
  }

  floats(values: Float32Array): Vector {
    return this.#keep(this.#device.vector(values))
  }

  #keep<T extends { destroy(): void }>(tensor: T): T {
    this.made.push(tensor)
    return tensor
  }
}

/** The values of an unquantised tensor. */
export function toFloats(tensor: RawTensor): Float32Array {
  const { data } = tensor
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  if (tensor.dtype === 'u32') throw malformed(tensor, 'f32, f16 or bf16')
  const size = tensor.dtype === 'f32' ? 4 : 2
  const values = new Float32Array(data.byteLength / size)
  for (let i = 0; i < values.length; i++) {
    values[i] = size === 4 ? view.getFloat32(i * 4, true) : widen(view.getUint16(i * 2, true), tensor.dtype)
  }
  return values
}

const word = new Uint32Array(1)
const float = new Float32Array(word.buffer)

function widen(bits: number, dtype: 'f16' | 'bf16' | 'f32'): number {
  if (dtype === 'f16') return halfToFloat(bits)
  word[0] = bits << 16
  return float[0]!
}

function malformed(tensor: Omit<RawTensor, 'data'>, wanted: string): V1Error {
  return new V1Error(500, `Tensor ${tensor.name} is ${tensor.dtype} [${tensor.shape.join('][')}], not ${wanted}.`, {
    code: 'malformed_weights',
  })
}

function mismatch(name: string, found: readonly number[], wanted: readonly number[]): V1Error {
  const shape = (of: readonly number[]) => `[${of.join('][')}]`
  return new V1Error(500, `Tensor ${name} is ${shape(found)}; the configuration demands ${shape(wanted)}.`, {
    code: 'malformed_weights',
  })
}
