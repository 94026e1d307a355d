/** How weights and activations lie: what `abi.ts` beside this folder says, and what only the kernels know. */
import { Q4_BLOCK_BYTES, X_HEADER_BYTES, X_STEP_BYTES_RELAXED, X_STEP_BYTES_SIMD } from './abi'

/** Of a block of 4-bit weights. */
export const Q4_SCALES_BYTES: usize = 32
export const Q4_STEP_BYTES: usize = (Q4_BLOCK_BYTES - Q4_SCALES_BYTES) / 4
/** By how much the sums of the 16-bit kernel are greater than those of codes and activations. */
export const X_FACTOR: i32 = ASC_FEATURE_RELAXED_SIMD ? 1 : 256
export const X_STEP_BYTES: usize = ASC_FEATURE_RELAXED_SIMD ? X_STEP_BYTES_RELAXED : X_STEP_BYTES_SIMD
/** Of eight activations as bytes (T: i8) or in 16 bits (i16). */
export function stepBytesOf<T>(): usize {
  return sizeof<T>() === 1 ? X_STEP_BYTES_RELAXED : X_STEP_BYTES_SIMD
}
/** Activations in 16 bits, whatever the build. */
export const WIDE_BLOCK_BYTES: usize = X_HEADER_BYTES + 4 * X_STEP_BYTES_SIMD
export const X_BLOCK_BYTES: usize = X_HEADER_BYTES + 4 * X_STEP_BYTES
/** MLC stores 4-bit weights as value / scale + 7. */
export const Q4_ZERO: i32 = 7
