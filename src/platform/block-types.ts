/**
 * The blocks in which ggml stores the rows of a quantised matrix, as its library defines them: so many values to a block
 * of so many bytes; `halves`: where in one its numbers in f16 are, `power`: where an exponent is, all else being whole. What each stands for is in `models/files/formats/gguf/dequantize.ts`.
 */
export const BLOCK_TYPES = {
  q4_0: { values: 32, bytes: 18, halves: [0] },
  q4_1: { values: 32, bytes: 20, halves: [0, 2] },
  q5_0: { values: 32, bytes: 22, halves: [0] },
  q5_1: { values: 32, bytes: 24, halves: [0, 2] },
  q8_0: { values: 32, bytes: 34, halves: [0] },
  q2_k: { values: 256, bytes: 84, halves: [80, 82] },
  q3_k: { values: 256, bytes: 110, halves: [108] },
  q4_k: { values: 256, bytes: 144, halves: [0, 2] },
  q5_k: { values: 256, bytes: 176, halves: [0, 2] },
  q6_k: { values: 256, bytes: 210, halves: [208] },
  iq4_nl: { values: 32, bytes: 18, halves: [0] },
  iq4_xs: { values: 256, bytes: 136, halves: [0] },
  mxfp4: { values: 32, bytes: 17, halves: [], power: 0 },
} as const

export type BlockType = keyof typeof BLOCK_TYPES

export const isBlockType = (type: string): type is BlockType => Object.hasOwn(BLOCK_TYPES, type)

/** Bytes of a row, or of any whole number of blocks. */
export function blockBytes(type: BlockType, values: number): number {
  const block = BLOCK_TYPES[type]
  return (values / block.values) * block.bytes
}
