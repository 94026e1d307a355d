/** How ggml stores numbers: so many to a block of so many bytes, and the values that a block stands for. */
import * as read from './dequantize.js'

export interface GgmlType {
  readonly label: string
  /** Values of a block. */
  readonly block: number
  readonly bytes: number
  /** Writes the values of the block at `at` to `out` from `to` on. Absent: it cannot be read, or is plain. */
  readonly read?: (view: DataView, at: number, out: Float32Array, to: number) => void
  /** Plain numbers, as they lie. */
  readonly plain?: 'f32' | 'f16' | 'bf16'
}

const TYPES: Readonly<Record<number, GgmlType>> = {
  0: { label: 'F32', block: 1, bytes: 4, plain: 'f32' },
  1: { label: 'F16', block: 1, bytes: 2, plain: 'f16' },
  2: { label: 'Q4_0', block: 32, bytes: 18, read: read.q4_0 },
  3: { label: 'Q4_1', block: 32, bytes: 20, read: read.q4_1 },
  6: { label: 'Q5_0', block: 32, bytes: 22, read: read.q5_0 },
  7: { label: 'Q5_1', block: 32, bytes: 24, read: read.q5_1 },
  8: { label: 'Q8_0', block: 32, bytes: 34, read: read.q8_0 },
  10: { label: 'Q2_K', block: 256, bytes: 84, read: read.q2_k },
  11: { label: 'Q3_K', block: 256, bytes: 110, read: read.q3_k },
  12: { label: 'Q4_K', block: 256, bytes: 144, read: read.q4_k },
  13: { label: 'Q5_K', block: 256, bytes: 176, read: read.q5_k },
  14: { label: 'Q6_K', block: 256, bytes: 210, read: read.q6_k },
  20: { label: 'IQ4_NL', block: 32, bytes: 18, read: read.iq4_nl },
  23: { label: 'IQ4_XS', block: 256, bytes: 136, read: read.iq4_xs },
  30: { label: 'BF16', block: 1, bytes: 2, plain: 'bf16' },
}

/** Known by name alone. */
const OTHERS: Readonly<Record<number, string>> = {
  9: 'Q8_1',
  15: 'Q8_K',
  16: 'IQ2_XXS',
  17: 'IQ2_XS',
  18: 'IQ3_XXS',
  19: 'IQ1_S',
  21: 'IQ3_S',
  22: 'IQ2_S',
  24: 'I8',
  25: 'I16',
  26: 'I32',
  27: 'I64',
  28: 'F64',
  29: 'IQ1_M',
  34: 'TQ1_0',
  35: 'TQ2_0',
  39: 'MXFP4',
}

export const Q4_0 = 2

export const READABLE = Object.values(TYPES).map(({ label }) => label)

/** A type that cannot be read has no size that matters. */
export function typeOf(type: number): GgmlType {
  return TYPES[type] ?? { label: OTHERS[type] ?? `number ${type}`, block: 1, bytes: 0 }
}

export const canRead = ({ read, plain }: GgmlType): boolean => read !== undefined || plain !== undefined
