/** Tensors of a repository as the decoder's matrices and vectors. */

import { V1Error } from '../../../errors.js'
import { BLOCK_TYPES, type BlockType, blockBytes, isBlockType } from '../../../platform/block-types.js'
import { joined } from '../../../platform/bytes.js'
import { halfToFloat } from '../../../platform/half.js'
import { blockValues } from '../../../repository/formats/gguf/dequantize.js'
import type { RawTensor, WeightSource } from '../../../repository/source.js'
import {
  type Device,
  type Matrix,
  type MatrixBand,
  type MatrixData,
  type PlainFormat,
  rowBytes,
  type Vector,
} from '../contract.js'
import { canShrink, type PlannedMatrix, type PlannedVector, type StoredForm } from './planned.js'
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
    if (read.format === 'q4' || read.format === 'mixed') throw new TypeError('Values in four bits are not read back.')
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
  const { parts, rows, columns, scaleType, order } = planned
  if (parts.every(({ stored }) => stored === 'q4')) {
    const read = async (suffix: string, type: RawTensor['dtype'], width: number) => {
      const wanted = parts.map((part) => ({ name: `${part.name}.${suffix}`, shape: [part.rows, width] }))
      return join(await readParts(source, wanted, type, signal), order)
    }
    const codes = await read('q_weight', 'u32', columns / 8)
    const scales = await read('q_scale', scaleType, columns / 32)
    return { format: 'q4', rows, columns, codes, scales, scaleType }
  }
  const read: FormedRows[] = []
  for (const { name, rows, stored } of parts) {
    if (stored === 'q4') throw new TypeError(`${name} is in four bits, and others of its matrix are not.`)
    const [data] = await readParts(source, [{ name: `${name}.weight`, shape: [rows, columns] }], stored, signal)
    read.push({ format: stored, rows, data: data! })
  }
  const bands = inBands(read, columns, order).map(({ format, rows, data }): MatrixBand => {
    if (!planned.quantize || !canShrink(format)) return { format, rows, columns, data }
    return { format: 'q4', rows, columns, ...quantize(toFloats({ dtype: format, data })), scaleType: 'f16' }
  })
  return bands.length === 1 ? bands[0]! : { format: 'mixed', rows, columns, bands }
}

interface FormedRows {
  readonly format: Exclude<StoredForm, 'q4'>
  readonly rows: number
  readonly data: Uint8Array
}

/** Rows of one form together, each where `order` says. */
function inBands(parts: readonly FormedRows[], columns: number, order?: readonly number[]): FormedRows[] {
  const [{ format }] = parts as readonly [FormedRows]
  if (parts.every((part) => part.format === format)) {
    const rows = parts.reduce((sum, part) => sum + part.rows, 0)
    const data = parts.map((part) => part.data)
    return [{ format, rows, data: join(data, order) }]
  }
  const origins = parts.flatMap((part) => Array.from({ length: part.rows }, (_, row) => ({ part, row })))
  const bands: { format: FormedRows['format']; data: Uint8Array[] }[] = []
  for (const from of order ?? origins.keys()) {
    const { part, row } = origins[from]!
    const bytes = rowBytes(part.format, columns)
    if (bands.at(-1)?.format !== part.format) bands.push({ format: part.format, data: [] })
    bands.at(-1)!.data.push(part.data.subarray(row * bytes, (row + 1) * bytes))
  }
  return bands.map(({ format, data }) => ({ format, rows: data.length, data: joined(data) }))
}

function join(parts: readonly Uint8Array[], order?: readonly number[]): Uint8Array {
  const whole = parts.length === 1 ? parts[0]! : joined(parts)
  return order ? ordered(whole, order) : whole
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
): Promise<Uint8Array[]> {
  const read: Uint8Array[] = []
  for (const { name, shape } of wanted) read.push(bytesOf(await source.read(name, signal), shape, type))
  return read
}

const SIZES = { f32: 4, f16: 2, bf16: 2, u32: 4 } as const

/** What was read is once more held against what was planned: a source may not keep its word. */
function bytesOf(tensor: RawTensor, shape: readonly number[], type: RawTensor['dtype']): Uint8Array {
  const count = shape.reduce((product, side) => product * side, 1)
  const needed = isBlockType(type) ? blockBytes(type, count) : count * SIZES[type]
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
  if (isBlockType(dtype)) return blockValues(dtype, data)
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
function areNumbers(data: Uint8Array, type: PlainFormat | BlockType): boolean {
  if (isBlockType(type)) return haveScales(data, type)
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

/** Of blocks, the scales. */
function haveScales(data: Uint8Array, type: BlockType): boolean {
  const { bytes, halves } = BLOCK_TYPES[type]
  for (const half of halves) {
    for (let at = half + 1; at < data.length; at += bytes) if ((data[at]! & 0x7c) === 0x7c) return false
  }
  return true
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
