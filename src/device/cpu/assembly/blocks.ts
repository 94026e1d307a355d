/**
 * How a group of eight rows of ggml's blocks lies: the scales of all its blocks, then their codes. Codes lie in runs of 32
 * columns, a run in steps of 8: of each row a word whose byte t holds the low bits of columns t and t + 4, in 4 bits
 * each. Runs of 5 bits begin with a word for each row that has the fifth of all 32: bit s of its nibble p is that of
 * nibble p of step s. Half a run of 6 bits begins with a word with two bits for each of two steps, in the same order; so
 * do half a run of 2 bits, and one of 3 bits after its word of third bits. Runs of 8 bits have two words for a step.
 */
import { bitsOf, blockBytes, blockValues, GROUP } from './abi'

/** Of rows side by side. */
export const ROW_BYTES: usize = 4
/** By which codes of 8 bits differ from signed bytes: those that are cut in halves have no sign. */
export const BYTES_SIGN: i8 = ASC_FEATURE_RELAXED_SIMD ? -128 : 0
/** Of the words of eight rows. */
export const WORDS_BYTES: usize = 32

export function scaleBytes(kind: i32): usize {
  return <usize>(GROUP * blockBytes(kind) - blockValues(kind) * bitsOf(kind))
}

export function blockGroupBytes(kind: i32, k: i32): i32 {
  return (k / blockValues(kind)) * blockBytes(kind) * GROUP
}

/** Of all scales, which is where codes begin. */
export function codesAt(kind: i32, k: i32): usize {
  return <usize>(k / blockValues(kind)) * scaleBytes(kind)
}

/** Where in a run the words of a step lie. */
export function stepAt(bits: i32, step: i32): usize {
  if (bits === 8) return <usize>step * 2 * WORDS_BYTES
  if (bits === 6) return <usize>(3 * (step >> 1) + 1 + (step & 1)) * WORDS_BYTES
  return <usize>((bits === 5 ? 1 : 0) + step) * WORDS_BYTES
}
