/** Rows of plain numbers, or of blocks. */
import { blockBytes, halfToFloat, isBlockType } from '../../platform/index.js'
import { blockValues } from './formats/gguf/dequantize.js'
import type { PlainType, StoredRows, TensorType } from './source.js'

const SIZES = { f32: 4, f16: 2, bf16: 2, u32: 4 } as const

/** `slice`: bytes of the matrix. */
export function storedRows(
  dtype: TensorType,
  columns: number,
  slice: (from: number, to: number, signal?: AbortSignal, into?: Uint8Array) => Promise<Uint8Array>,
): StoredRows {
  const rowBytes = isBlockType(dtype) ? blockBytes(dtype, columns) : columns * SIZES[dtype]
  return {
    rowBytes,
    read: (from, to, signal, into) => slice(from * rowBytes, to * rowBytes, signal, into),
    widen(bytes, at, out) {
      if (isBlockType(dtype)) {
        out.set(blockValues(dtype, bytes.subarray(at, at + rowBytes)))
        return
      }
      const view = new DataView(bytes.buffer, bytes.byteOffset + at, rowBytes)
      for (let i = 0; i < columns; i++) out[i] = plainNumberAt(view, i, dtype)
    },
  }
}

const word = new Uint32Array(1)
const float = new Float32Array(word.buffer)

/** Of unquantised numbers. */
export function plainNumberAt(view: DataView, i: number, dtype: PlainType): number {
  if (dtype === 'f32') return view.getFloat32(4 * i, true)
  const bits = view.getUint16(2 * i, true)
  if (dtype === 'f16') return halfToFloat(bits)
  word[0] = bits << 16
  return float[0]!
}
