/** What the kernels share; `program.ts` beside `index.ts` states the same numbers for the TypeScript side. */

/** Kinds of matrices, by how they are stored and multiplied. 0 is f32. */
export const F16: i32 = 1
export const Q4: i32 = 2
export const BF16: i32 = 3
/** Stored as Q4, multiplied with activations that are not rounded. */
export const Q4_EXACT: i32 = 4

/** Weights of one scale. */
export const BLOCK: i32 = 32
/** Rows of a 4-bit matrix that are stored, and multiplied, together. */
export const GROUP: i32 = 8
/** 4-bit weights, 8 rows by 32 columns: eight f32 scales, then four steps of 8 columns, two vectors of 4 rows each. */
export const Q4_BLOCK_BYTES: usize = 160
export const Q4_SCALES_BYTES: usize = 32
export const Q4_STEP_BYTES: usize = 32
/** By how much the sums of the 16-bit kernel are greater than those of codes and activations. */
export const X_FACTOR: i32 = ASC_FEATURE_RELAXED_SIMD ? 1 : 256
/**
 * Quantised activations, 32 columns: f32 scale, i32 zero point correction, a mask of the lowest nibbles, 4 bytes of
 * padding, then the values. The mask is there because compilers load what they would make anew in every round of a loop.
 */
export const X_HEADER_BYTES: usize = 16
/** Eight activations: as bytes where the machine multiplies bytes, else as 16-bit integers. */
export const X_STEP_BYTES: usize = ASC_FEATURE_RELAXED_SIMD ? 8 : 16
export const X_BLOCK_BYTES: usize = X_HEADER_BYTES + 4 * X_STEP_BYTES
/** MLC stores 4-bit weights as value / scale + 7. */
export const Q4_ZERO: i32 = 7
