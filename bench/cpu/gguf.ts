/** A model of `shapes.ts` as GGUF with the same 4-bit codes, so that llama.cpp runs on the same numbers. */
import { closeSync, openSync, writeSync } from 'node:fs'
import type { WeightSource } from '../../src/engines/webgpu/weights/source.js'
import type { Shape } from './shapes.js'

const ALIGNMENT = 32
const [F32, Q4_0] = [0, 2]
const [U32, FLOAT, STRING, ARRAY, I32] = [4, 6, 8, 9, 5]

class Bytes {
  readonly parts: Buffer[] = []
  length = 0

  push(part: Buffer): this {
    this.parts.push(part)
    this.length += part.length
    return this
  }
  u32(value: number): this {
    const part = Buffer.alloc(4)
    part.writeUInt32LE(value)
    return this.push(part)
  }
  u64(value: number): this {
    const part = Buffer.alloc(8)
    part.writeBigUInt64LE(BigInt(value))
    return this.push(part)
  }
  float(value: number): this {
    const part = Buffer.alloc(4)
    part.writeFloatLE(value)
    return this.push(part)
  }
  text(value: string): this {
    const bytes = Buffer.from(value)
    return this.u64(bytes.length).push(bytes)
  }
}

interface Tensor {
  readonly name: string
  readonly dims: readonly number[]
  readonly type: number
  readonly bytes: number
  readonly data: () => Promise<Buffer>
}

/** MLC's value is (code - 7) * scale, GGUF's (code - 8) * scale: each code moves up by one, and 15 has no place. */
function toQ4_0(codes: Uint8Array, scales: Uint8Array, from: number, rows: number, columns: number): Buffer {
  const out = Buffer.alloc((rows * columns * 18) / 32)
  const blocks = columns / 32
  let at = 0
  for (let block = from * blocks; block < (from + rows) * blocks; block++) {
    out[at++] = scales[block * 2]!
    out[at++] = scales[block * 2 + 1]!
    const code = (i: number) => Math.min(15, ((codes[block * 16 + (i >> 1)]! >> ((i & 1) * 4)) & 15) + 1)
    for (let i = 0; i < 16; i++) out[at++] = code(i) | (code(i + 16) << 4)
  }
  return out
}

function tensors(of: Shape, source: WeightSource): Tensor[] {
  const list: Tensor[] = []
  const norm = (name: string) =>
    list.push({
      name,
      dims: [of.hidden],
      type: F32,
      bytes: of.hidden * 4,
      data: async () => Buffer.from(new Float32Array(of.hidden).fill(1).buffer),
    })
  const matrix = (name: string, mlc: string, rows: number, columns: number, from = 0) =>
    list.push({
      name,
      dims: [columns, rows],
      type: Q4_0,
      bytes: (rows * columns * 18) / 32,
      data: async () => {
        const codes = await source.read(`${mlc}.q_weight`)
        const scales = await source.read(`${mlc}.q_scale`)
        return toQ4_0(codes.data, scales.data, from, rows, columns)
      },
    })
  const { hidden, intermediate: inner, headSize: d } = of
  const [queries, keys] = [of.heads * d, of.keyHeads * d]
  matrix('token_embd.weight', 'model.embed_tokens', of.vocabulary, hidden)
  norm('output_norm.weight')
  for (let i = 0; i < of.layers; i++) {
    const mlc = `model.layers.${i}`
    norm(`blk.${i}.attn_norm.weight`)
    matrix(`blk.${i}.attn_q.weight`, `${mlc}.self_attn.qkv_proj`, queries, hidden)
    matrix(`blk.${i}.attn_k.weight`, `${mlc}.self_attn.qkv_proj`, keys, hidden, queries)
    matrix(`blk.${i}.attn_v.weight`, `${mlc}.self_attn.qkv_proj`, keys, hidden, queries + keys)
    matrix(`blk.${i}.attn_output.weight`, `${mlc}.self_attn.o_proj`, hidden, queries)
    norm(`blk.${i}.ffn_norm.weight`)
    matrix(`blk.${i}.ffn_gate.weight`, `${mlc}.mlp.gate_up_proj`, inner, hidden)
    matrix(`blk.${i}.ffn_up.weight`, `${mlc}.mlp.gate_up_proj`, inner, hidden, inner)
    matrix(`blk.${i}.ffn_down.weight`, `${mlc}.mlp.down_proj`, hidden, inner)
  }
  return list
}

function metadata(of: Shape, context: number): Bytes {
  const out = new Bytes()
  let count = 0
  const key = (name: string, type: number) => {
    count++
    return out.text(name).u32(type)
  }
  const u32 = (name: string, value: number) => key(name, U32).u32(value)
  key('general.architecture', STRING).text('llama')
  key('general.name', STRING).text(of.name)
  u32('llama.context_length', context)
  u32('llama.embedding_length', of.hidden)
  u32('llama.block_count', of.layers)
  u32('llama.feed_forward_length', of.intermediate)
  u32('llama.attention.head_count', of.heads)
  u32('llama.attention.head_count_kv', of.keyHeads)
  u32('llama.attention.key_length', of.headSize)
  u32('llama.attention.value_length', of.headSize)
  u32('llama.rope.dimension_count', of.headSize)
  u32('llama.vocab_size', of.vocabulary)
  key('llama.attention.layer_norm_rms_epsilon', FLOAT).float(1e-5)
  // A vocabulary of made-up words: llama.cpp asks for one, with a token for each byte.
  const word = (i: number) =>
    i < 3
      ? ['<unk>', '<s>', '</s>'][i]!
      : i < 259
        ? `<0x${(i - 3).toString(16).toUpperCase().padStart(2, '0')}>`
        : `t${i}`
  key('tokenizer.ggml.model', STRING).text('llama')
  key('tokenizer.ggml.tokens', ARRAY).u32(STRING).u64(of.vocabulary)
  for (let i = 0; i < of.vocabulary; i++) out.text(word(i))
  key('tokenizer.ggml.scores', ARRAY).u32(FLOAT).u64(of.vocabulary)
  out.push(Buffer.from(new Float32Array(of.vocabulary).buffer))
  key('tokenizer.ggml.token_type', ARRAY).u32(I32).u64(of.vocabulary)
  const types = Int32Array.from({ length: of.vocabulary }, (_, i) => (i === 0 ? 2 : i < 3 ? 3 : i < 259 ? 6 : 1))
  out.push(Buffer.from(types.buffer))
  u32('tokenizer.ggml.bos_token_id', 1)
  u32('tokenizer.ggml.eos_token_id', 2)
  return Object.assign(out, { count })
}

export async function writeGguf(path: string, of: Shape, source: WeightSource, context: number): Promise<void> {
  const list = tensors(of, source)
  const keys = metadata(of, context) as Bytes & { count: number }
  const head = new Bytes().push(Buffer.from('GGUF')).u32(3).u64(list.length).u64(keys.count)
  for (const part of keys.parts) head.push(part)
  let offset = 0
  const aligned = (bytes: number) => Math.ceil(bytes / ALIGNMENT) * ALIGNMENT
  for (const { name, dims, type, bytes } of list) {
    head.text(name).u32(dims.length)
    for (const dim of dims) head.u64(dim)
    head.u32(type).u64(offset)
    offset += aligned(bytes)
  }
  const file = openSync(path, 'w')
  const write = (part: Buffer) =>
    writeSync(file, Buffer.concat([part, Buffer.alloc(aligned(part.length) - part.length)]))
  write(Buffer.concat(head.parts))
  for (const { data } of list) write(await data())
  closeSync(file)
}
