/** Blocks of ggml's, of made-up codes: speed does not hang on what they are. */
import { F16, Q4_0, Q4_K, Q5_0, Q5_1, Q5_K, Q6_K, Q8_0, type Tensor } from '../peers/gguf-file.js'

/** Eight pairs of a factor and what is taken off, of six bits each: all are 8, of 2^-10 and of 2^-7. */
const PAIRS = [0x1400, 0x2000, ...Array<number>(4).fill(0x0808), 0x8888, 0x8888]

interface Block {
  readonly type: number
  readonly values: number
  readonly bytes: number
  /** Scales, by 16 bits, before the codes and behind them. */
  readonly heads: readonly number[]
  readonly tails?: readonly number[]
  /** Of four bytes of codes, which of their bits are made up, and what the others are. @default all are */
  readonly mask?: number
  readonly fixed?: number
}

const BLOCKS = {
  // A scale of 2^-7.
  Q4_0: { type: Q4_0, values: 32, bytes: 18, heads: [0x2000] },
  Q5_0: { type: Q5_0, values: 32, bytes: 22, heads: [0x1c00] },
  Q5_1: { type: Q5_1, values: 32, bytes: 24, heads: [0x1c00, 0x2000] },
  Q8_0: { type: Q8_0, values: 32, bytes: 34, heads: [0x1000] },
  Q4_K: { type: Q4_K, values: 256, bytes: 144, heads: PAIRS },
  Q5_K: { type: Q5_K, values: 256, bytes: 176, heads: PAIRS },
  // Sixteen factors of 8, of 2^-11.
  Q6_K: { type: Q6_K, values: 256, bytes: 210, heads: [], tails: [...Array<number>(8).fill(0x0808), 0x1000] },
  // Of either sign, between 2^-6 and 2^-5.
  F16: { type: F16, values: 32, bytes: 64, heads: [], mask: 0x83ff83ff, fixed: 0x24002400 },
} as const satisfies Readonly<Record<string, Block>>
type Kind = keyof typeof BLOCKS

/** Of a whole file; Q4_K_M is what people have. */
export const FORMS = ['Q4_0', 'Q4_K', 'Q4_K_M', 'Q8_0', 'F16'] as const
export type BlockName = (typeof FORMS)[number]

/** What llama.cpp's quantiser takes where a row is no whole number of large blocks. */
const SMALLER: Partial<Record<Kind, Kind>> = { Q4_K: 'Q5_0', Q5_K: 'Q5_1', Q6_K: 'Q8_0' }

/** Layers in which its mixture gives more bits to what comes out worst. */
export const hasMoreBits = (layer: number, layers: number) =>
  layer < Math.floor(layers / 8) || layer >= Math.floor((7 * layers) / 8) || (layer - Math.floor(layers / 8)) % 3 === 2

function kindOf(file: BlockName, name: string, { layers, head }: Place): Kind {
  if (file !== 'Q4_K_M') return file
  if (name === head) return 'Q6_K'
  if (name.endsWith('.attn_qkv.weight')) return 'Q5_K'
  const [, layer, part] = name.match(/^blk\.(\d+)\.(attn_v|ffn_down)\.weight$/) ?? []
  return part && hasMoreBits(Number(layer), layers) ? 'Q6_K' : 'Q4_K'
}

/** What the mixture hangs on: how many layers there are, and which matrix makes the logits. */
export interface Place {
  readonly layers: number
  readonly head: string
}

export function blocksOf(
  file: BlockName,
  columns: number,
  count: number,
  name: string,
  place: Place,
): Pick<Tensor, 'type' | 'bytes' | 'data'> {
  const kind = kindOf(file, name, place)
  const block: Block = BLOCKS[columns % BLOCKS[kind].values === 0 ? kind : (SMALLER[kind] ?? kind)]
  const all = (count / block.values) * block.bytes
  return { type: block.type, bytes: all, data: async () => made(all, block, name) }
}

function made(all: number, { bytes, heads, tails = [], mask = -1, fixed = 0 }: Block, name: string): Buffer {
  const end = bytes - 2 * tails.length
  const out = Buffer.alloc(all)
  let state = [...name].reduce((hash, sign) => (Math.imul(hash, 31) + sign.charCodeAt(0)) >>> 0, 1)
  for (let at = 0; at < all; at += bytes) {
    for (const [i, head] of heads.entries()) out.writeUInt16LE(head, at + 2 * i)
    for (const [i, tail] of tails.entries()) out.writeUInt16LE(tail, at + end + 2 * i)
    for (let i = 2 * heads.length; i < end; i += 4) {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0
      out.writeUInt32LE((((state ^ (state >>> 13)) & mask) | fixed) >>> 0, at + i)
    }
  }
  return out
}
