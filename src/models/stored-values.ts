/** What was read of a tensor: as long as it must be, of numbers, and their values. */
import { V1Error } from '../contract/index.js'
import { type MatrixBand, type PlainFormat, Q4_BLOCK } from '../device/index.js'
import { BLOCK_TYPES, type BlockType, blockBytes, halfToFloat, isBlockType } from '../platform/index.js'
import { blockValues } from './files/formats/gguf/dequantize.js'
import { plainNumberAt } from './files/rows.js'
import type { RawTensor } from './files/source.js'

const SIZES = { f32: 4, f16: 2, bf16: 2, u32: 4 } as const

/** What was read is once more held against what was planned: a source may not keep its word. */
export function checkedBytes(tensor: RawTensor, shape: readonly number[], type: RawTensor['dtype']): Uint8Array {
  const needed = storedLength(shape, type)
  // Eight codes to a word: all of them are numbers.
  if (type !== 'u32' && !areNumbers(tensor.data, type)) throw notANumber(tensor)
  const fits = tensor.dtype === type && tensor.shape.join() === shape.join() && tensor.data.byteLength === needed
  if (!fits) throw mismatch(tensor, shape)
  return tensor.data
}

export function storedLength(shape: readonly number[], type: RawTensor['dtype']): number {
  const count = shape.reduce((product, side) => product * side, 1)
  return isBlockType(type) ? blockBytes(type, count) : count * SIZES[type]
}

/** Of MLC's four bits the values of each row: (code - 7) * scale, the lower of two codes first. */
export function fourBits(
  columns: number,
  codes: Uint8Array,
  scales: Uint8Array,
  scaleType: 'f16' | 'f32',
): (row: number, out: Float32Array) => void {
  const view = new DataView(scales.buffer, scales.byteOffset, scales.byteLength)
  const perRow = columns / Q4_BLOCK
  const scaleOf = (block: number) =>
    scaleType === 'f16' ? halfToFloat(view.getUint16(2 * block, true)) : view.getFloat32(4 * block, true)
  return (row, out) => {
    let at = (row * columns) / 2
    for (let block = 0; block < perRow; block++) {
      const scale = scaleOf(row * perRow + block)
      for (let i = block * Q4_BLOCK; i < (block + 1) * Q4_BLOCK; i += 2) {
        const pair = codes[at++]!
        out[i] = ((pair & 15) - 7) * scale
        out[i + 1] = ((pair >> 4) - 7) * scale
      }
    }
  }
}

/** The values of all rows; `turned`: of one column after the other. */
export function fourBitValues(
  { rows, columns, codes, scales, scaleType }: Extract<MatrixBand, { format: 'q4' }>,
  turned: boolean,
): Float32Array {
  const rowInto = fourBits(columns, codes, scales, scaleType)
  const values = new Float32Array(rows * columns)
  const row = new Float32Array(columns)
  for (let r = 0; r < rows; r++) {
    rowInto(r, row)
    for (let c = 0; c < columns; c++) values[turned ? c * rows + r : r * columns + c] = row[c]!
  }
  return values
}

/** The values of an unquantised tensor. */
export function toFloats({ dtype, data }: Pick<RawTensor, 'dtype' | 'data'>): Float32Array {
  if (dtype === 'f32' && data.byteOffset % 4 === 0) {
    return new Float32Array(data.buffer, data.byteOffset, data.byteLength / 4)
  }
  if (isBlockType(dtype)) return blockValues(dtype, data)
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  const values = new Float32Array(data.byteLength / SIZES[dtype])
  for (let i = 0; i < values.length; i++) values[i] = plainNumberAt(view, i, dtype)
  return values
}

/** Whether no value is infinite or NaN: the exponents of these are all ones. */
export function areNumbers(data: Uint8Array, type: PlainFormat | BlockType): boolean {
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

/** Of blocks, the scales: exponents in a byte have one value that is no number. */
function haveScales(data: Uint8Array, type: BlockType): boolean {
  const block = BLOCK_TYPES[type]
  const { bytes, halves } = block
  if ('power' in block) for (let at = block.power; at < data.length; at += bytes) if (data[at] === 255) return false
  for (const half of halves) {
    for (let at = half + 1; at < data.length; at += bytes) if ((data[at]! & 0x7c) === 0x7c) return false
  }
  return true
}

export function notANumber({ name }: Pick<RawTensor, 'name'>): V1Error {
  return new V1Error(500, `Tensor ${name} holds values that are not numbers: it is damaged. Download it again.`, {
    code: 'malformed_weights',
  })
}

export function mismatch(
  { name, shape: found }: Pick<RawTensor, 'name' | 'shape'>,
  wanted: readonly number[],
): V1Error {
  const shape = (of: readonly number[]) => `[${of.join('][')}]`
  return new V1Error(500, `Tensor ${name} is ${shape(found)}; the configuration requires ${shape(wanted)}.`, {
    code: 'malformed_weights',
  })
}
