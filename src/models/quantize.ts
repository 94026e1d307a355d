import { floatToHalf } from '../platform/index.js'

const BLOCK = 32
/** Codes run from 0 to 14 around 7. */
const ZERO = 7

/** MLC's q4f16_1: eight codes to a word, lowest first, and one f16 scale for 32 of them. */
export function quantize(values: Float32Array): { codes: Uint8Array; scales: Uint8Array } {
  const codes = new Uint32Array(values.length / 8)
  const scales = new Uint16Array(values.length / BLOCK)
  for (let block = 0; block < scales.length; block++) {
    let most = 0
    for (let i = block * BLOCK; i < (block + 1) * BLOCK; i++) most = Math.max(most, Math.abs(values[i]!))
    const scale = most / ZERO
    scales[block] = floatToHalf(scale)
    const inverse = scale > 0 ? 1 / scale : 0
    for (let i = block * BLOCK; i < (block + 1) * BLOCK; i++) {
      const code = Math.min(2 * ZERO, Math.max(0, Math.round(values[i]! * inverse) + ZERO))
      codes[i >> 3]! |= code << (4 * (i & 7))
    }
  }
  return { codes: new Uint8Array(codes.buffer), scales: new Uint8Array(scales.buffer) }
}
