/** Tensors of a repository as the decoder's matrices and vectors. */

import { V1Error } from '../../../errors.js'
import { joined } from '../../../platform/bytes.js'
import { halfToFloat } from '../../../platform/half.js'
import type { RawTensor, WeightSource } from '../../../repository/source.js'
import type { Device, Matrix, MatrixData, Vector } from '../contract.js'
import type { PlannedMatrix, PlannedVector } from './planned.js'
import { quantize } from './quantize.js'

/** Brings planned tensors to a device. */
export class TensorLoader {
  readonly source: WeightSource
  readonly #device: Device
  readonly signal: AbortSignal | undefined
  /** Everything made so far, so that a failure half-way can free it. */
  readonly made: { destroy(): void }[] = []

  constructor(device: Device, source: WeightSource, signal?: AbortSignal) {
    this.#device = device
    this.source = source
    this.signal = signal
  }

  async matrix(planned: PlannedMatrix, gated = false): Promise<Matrix> {
    this.signal?.throwIfAborted()
    return this.#keep(this.#device.matrix(await readMatrix(this.source, planned, this.signal), { gated }))
  }

  async vector(planned: PlannedVector): Promise<Vector> {
    return this.floats(await readVector(this.source, planned, this.signal))
  }

  /** The values of a matrix that is stored plain, row by row: for those that are joined before they are used. */
  async values(planned: PlannedMatrix): Promise<Float32Array> {
    const read = await readMatrix(this.source, planned, this.signal)
    if (read.format === 'q4') throw new TypeError('Values in four bits are not read back.')
    return toFloats({ dtype: read.format, data: read.data })
  }

  /** A matrix of values that are at hand. */
  table(values: Float32Array, columns: number): Matrix {
    const data = new Uint8Array(values.buffer, values.byteOffset, values.byteLength)
    return this.#keep(this.#device.matrix({ format: 'f32', rows: values.length / columns, columns, data }))
  }

  floats(values: Float32Array): Vector {
    return this.#keep(this.#device.vector(values))
  }

  #keep<T extends { destroy(): void }>(tensor: T): T {
    this.made.push(tensor)
    return tensor
  }
}

/** The parts of a matrix, one below the other. */
export async function readMatrix(
  source: WeightSource,
  planned: PlannedMatrix,
  signal?: AbortSignal,
): Promise<MatrixData> {
  const { parts, rows, columns, stored, scaleType, order } = planned
  const read = async (suffix: string, type: RawTensor['dtype'], width: number) => {
    const wanted = parts.map((part) => ({ name: `${part.name}.${suffix}`, shape: [part.rows, width] }))
    const data = await readParts(source, wanted, type, signal)
    return order ? ordered(data, order) : data
  }
  if (stored === 'q4') {
    const codes = await read('q_weight', 'u32', columns / 8)
    const scales = await read('q_scale', scaleType, columns / 32)
    return { format: 'q4', rows, columns, codes, scales, scaleType }
  }
  const data = await read('weight', stored, columns)
  if (!planned.quantize) return { format: stored, rows, columns, data }
  return { format: 'q4', rows, columns, ...quantize(toFloats({ dtype: stored, data })), scaleType: 'f16' }
}

export async function readVector(
  source: WeightSource,
  { parts, length, order, exponent, offset = 0, scale = 1 }: PlannedVector,
  signal?: AbortSignal,
): Promise<Float32Array> {
  const values = new Float32Array(length)
  let at = 0
  for (const part of parts) {
    const tensor = await source.read(part.name, signal)
    values.set(toFloats({ dtype: tensor.dtype, data: bytesOf(tensor, part.shape ?? [part.length], tensor.dtype) }), at)
    at += part.length
  }
  const placed = order ? Float32Array.from(order, (from) => values[from] ?? 0) : values
  if (exponent !== undefined) return placed.map((value) => exponent * Math.exp(value))
  return placed.map((value) => (value + offset) * scale)
}

/** Rows, each where `order` says. */
function ordered(data: Uint8Array, order: readonly number[]): Uint8Array {
  const bytes = data.length / order.length
  const out = new Uint8Array(data.length)
  order.forEach((from, to) => {
    out.set(data.subarray(from * bytes, (from + 1) * bytes), to * bytes)
  })
  return out
}

async function readParts(
  source: WeightSource,
  wanted: readonly { readonly name: string; readonly shape: readonly number[] }[],
  type: RawTensor['dtype'],
  signal?: AbortSignal,
): Promise<Uint8Array> {
  const read: Uint8Array[] = []
  for (const { name, shape } of wanted) read.push(bytesOf(await source.read(name, signal), shape, type))
  return read.length === 1 ? read[0]! : joined(read)
}

const SIZES = { f32: 4, f16: 2, bf16: 2, u32: 4 } as const

/** What was read is once more held against what was planned: a source may not keep its word. */
function bytesOf(tensor: RawTensor, shape: readonly number[], type: RawTensor['dtype']): Uint8Array {
  const needed = shape.reduce((product, side) => product * side, SIZES[type])
  // Eight codes to a word: all of them are numbers.
  if (type !== 'u32' && !areNumbers(tensor.data, type)) throw damaged(tensor)
  const fits = tensor.dtype === type && tensor.shape.join() === shape.join() && tensor.data.byteLength === needed
  if (!fits) throw mismatch(tensor, shape)
  return tensor.data
}

/** The values of an unquantised tensor. */
export function toFloats({ dtype, data }: Pick<RawTensor, 'dtype' | 'data'>): Float32Array {
  if (dtype === 'f32' && data.byteOffset % 4 === 0) {
    return new Float32Array(data.buffer, data.byteOffset, data.byteLength / 4)
  }
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  const size = SIZES[dtype]
  const values = new Float32Array(data.byteLength / size)
  for (let i = 0; i < values.length; i++) {
    values[i] = size === 4 ? view.getFloat32(i * 4, true) : widen(view.getUint16(i * 2, true), dtype)
  }
  return values
}

const word = new Uint32Array(1)
const float = new Float32Array(word.buffer)

function widen(bits: number, dtype: RawTensor['dtype']): number {
  if (dtype === 'f16') return halfToFloat(bits)
  word[0] = bits << 16
  return float[0]!
}

/** Whether no value is infinite or NaN: the exponents of these are all ones. */
function areNumbers(data: Uint8Array, type: 'f32' | 'f16' | 'bf16'): boolean {
  const aligned = data.byteOffset % 4 === 0 ? data : data.slice()
  const words = new Uint32Array(aligned.buffer, aligned.byteOffset, aligned.byteLength >> 2)
  const high = { f32: 0x7f800000, f16: 0x7c000000, bf16: 0x7f800000 }[type]
  // Of two values in a word the lower has its exponent sixteen bits below.
  const low = type === 'f32' ? high : high >>> 16
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!
    if ((word & high) === high || (word & low) === low) return false
  }
  const last = aligned.byteLength & 2 ? aligned.at(-2)! | (aligned.at(-1)! << 8) : 0
  return type === 'f32' || (last & low) !== low
}

function damaged({ name }: RawTensor): V1Error {
  return new V1Error(500, `Tensor ${name} holds values that are not numbers: it is damaged. Download it again.`, {
    code: 'malformed_weights',
  })
}

function mismatch({ name, shape: found }: RawTensor, wanted: readonly number[]): V1Error {
  const shape = (of: readonly number[]) => `[${of.join('][')}]`
  return new V1Error(500, `Tensor ${name} is ${shape(found)}; the configuration demands ${shape(wanted)}.`, {
    code: 'malformed_weights',
  })
}
