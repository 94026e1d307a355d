/** Blocks of ggml's, of made-up codes: speed does not hang on what they are. */
import { Q4_0, Q4_K, Q5_0, type Tensor } from '../peers/gguf-file.js'

/** Bytes before the codes are scales; `heads`: what stands there, by 16 bits. */
const BLOCKS = {
  // A scale of 2^-7.
  Q4_0: { type: Q4_0, values: 32, bytes: 18, heads: [0x2000] },
  // Where a row is no whole number of large blocks llama.cpp takes these.
  Q5_0: { type: Q5_0, values: 32, bytes: 22, heads: [0x1c00] },
  // Eight pairs of a factor and what is taken off, of six bits each: all are 8, of 2^-10 and of 2^-7.
  Q4_K: {
    type: Q4_K,
    values: 256,
    bytes: 144,
    heads: [0x1400, 0x2000, ...Array<number>(4).fill(0x0808), 0x8888, 0x8888],
  },
} as const
export type BlockName = 'Q4_0' | 'Q4_K'

export function blocksOf(
  wanted: BlockName,
  columns: number,
  count: number,
  name: string,
): Pick<Tensor, 'type' | 'bytes' | 'data'> {
  const { type, values, bytes, heads } = BLOCKS[columns % BLOCKS[wanted].values === 0 ? wanted : 'Q5_0']
  const all = (count / values) * bytes
  return { type, bytes: all, data: async () => made(all, bytes, heads, name) }
}

function made(all: number, bytes: number, heads: readonly number[], name: string): Buffer {
  const out = Buffer.alloc(all)
  let state = [...name].reduce((hash, sign) => (Math.imul(hash, 31) + sign.charCodeAt(0)) >>> 0, 1)
  for (let at = 0; at < all; at += bytes) {
    for (const [i, head] of heads.entries()) out.writeUInt16LE(head, at + 2 * i)
    for (let i = 2 * heads.length; i < bytes; i += 4) {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0
      out.writeUInt32LE((state ^ (state >>> 13)) >>> 0, at + i)
    }
  }
  return out
}
