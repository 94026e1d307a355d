/** The numbers of ggml's types, and what can be read of them. */
import { BLOCK_TYPES, type BlockType } from '../../../../platform/index.js'

export interface GgmlType {
  readonly label: string
  /** Values of a block, and its bytes; of a type that cannot be read nothing that matters. */
  readonly block: number
  readonly bytes: number
  /** In blocks, or as plain numbers. Absent: it cannot be read. */
  readonly form?: BlockType | 'f32' | 'f16' | 'bf16'
}

const BLOCKS: Readonly<Record<number, BlockType>> = {
  ...{ 2: 'q4_0', 3: 'q4_1', 6: 'q5_0', 7: 'q5_1', 8: 'q8_0' },
  ...{ 10: 'q2_k', 11: 'q3_k', 12: 'q4_k', 13: 'q5_k', 14: 'q6_k', 20: 'iq4_nl', 23: 'iq4_xs', 39: 'mxfp4' },
}

const PLAIN: Readonly<Record<number, GgmlType>> = {
  0: { label: 'F32', block: 1, bytes: 4, form: 'f32' },
  1: { label: 'F16', block: 1, bytes: 2, form: 'f16' },
  30: { label: 'BF16', block: 1, bytes: 2, form: 'bf16' },
}

/** Known by name alone; some are in old files only, and have no place in newer ones. */
const OTHERS: Readonly<Record<number, string>> = {
  4: 'Q4_2',
  5: 'Q4_3',
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
  31: 'Q4_0_4_4',
  32: 'Q4_0_4_8',
  33: 'Q4_0_8_8',
  34: 'TQ1_0',
  35: 'TQ2_0',
  36: 'IQ4_NL_4_4',
  37: 'IQ4_NL_4_8',
  38: 'IQ4_NL_8_8',
  40: 'NVFP4',
  41: 'Q1_0',
  42: 'Q2_0',
}

export const READABLE = [
  ...Object.values(PLAIN).map(({ label }) => label),
  ...Object.values(BLOCKS).map((type) => type.toUpperCase()),
]

export function typeOf(type: number): GgmlType {
  const form = BLOCKS[type]
  if (!form) return PLAIN[type] ?? { label: OTHERS[type] ?? `number ${type}`, block: 1, bytes: 0 }
  return { label: form.toUpperCase(), block: BLOCK_TYPES[form].values, bytes: BLOCK_TYPES[form].bytes, form }
}
