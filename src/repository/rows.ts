/** Rows of plain numbers. */
import { halfToFloat } from '../platform/half.js'
import type { StoredRows, TensorType } from './source.js'

const SIZES = { f32: 4, f16: 2, bf16: 2, u32: 4 } as const

/** `slice`: bytes of the matrix. */
export function plainRows(
  dtype: TensorType,
  columns: number,
  slice: (from: number, to: number, signal?: AbortSignal) => Promise<Uint8Array>,
): StoredRows {
  const rowBytes = columns * SIZES[dtype]
  return {
    rowBytes,
    read: (from, to, signal) => slice(from * rowBytes, to * rowBytes, signal),
    widen(bytes, at, out) {
      const view = new DataView(bytes.buffer, bytes.byteOffset + at, rowBytes)
      for (let i = 0; i < columns; i++) out[i] = valueAt(view, i, dtype)
    },
  }
}

const word = new Uint32Array(1)
const float = new Float32Array(word.buffer)

function valueAt(view: DataView, i: number, dtype: TensorType): number {
  if (dtype === 'f32') return view.getFloat32(4 * i, true)
  const bits = view.getUint16(2 * i, true)
  if (dtype === 'f16') return halfToFloat(bits)
  word[0] = bits << 16
  return float[0]!
}
