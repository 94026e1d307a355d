/** A model in MLC's 4 bits as GGUF with the same codes, so that llama.cpp computes on the same numbers. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type DecoderConfig, readDecoderConfig } from '../../src/engines/webgpu/model/config.js'
import { halfToFloat } from '../../src/engines/webgpu/model/half.js'
import type { RawTensor, WeightSource } from '../../src/engines/webgpu/weights/source.js'
import { F32, Metadata, Q4_0, type Tensor, writeGgufFile } from './gguf-file.js'
import { FIRST_WORD, wordOf } from './token-ids.js'

export interface Gguf {
  readonly path: string
  readonly vocabulary: number
  remove(): Promise<void>
}

/** In a folder of its own, which `remove` deletes. Throws a `TypeError` where the model has parts that are not written. */
export async function writeGguf(model: string, source: WeightSource, context: number): Promise<Gguf> {
  const config = readDecoderConfig(source.chatConfig, model)
  assertWritable(config, source, model)
  const folder = await mkdtemp(join(tmpdir(), 'local-v1-gguf-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  const path = join(folder, 'model.gguf')
  try {
    await writeGgufFile(path, metadata(config, model, context), tensors(config, source))
  } catch (error) {
    await remove()
    throw error
  }
  return { path, vocabulary: config.vocabulary, remove }
}

const EMBEDDING = 'model.embed_tokens'

function assertWritable({ architecture, tied, ropeScaling }: DecoderConfig, source: WeightSource, model: string): void {
  const codes = source.has(`${EMBEDDING}.q_scale`) && source.describe(`${EMBEDDING}.q_scale`).dtype === 'f16'
  if (architecture === 'llama' && tied && ropeScaling === undefined && codes) return
  const can = 'a Llama in q4f16_1, its embeddings its head too, without scaled positions'
  throw new TypeError(`${model} cannot be written as GGUF here: that takes ${can}.`)
}

function tensors(of: DecoderConfig, source: WeightSource): Tensor[] {
  const list: Tensor[] = []
  const norm = (name: string, mlc: string) =>
    list.push({
      name,
      dims: [of.hidden],
      type: F32,
      bytes: of.hidden * 4,
      data: async () => floats(await source.read(`${mlc}.weight`)),
    })
  const matrix = (name: string, mlc: string, rows: number, columns: number, rowAt = (row: number) => row) =>
    list.push({
      name,
      dims: [columns, rows],
      type: Q4_0,
      bytes: (rows * columns * 18) / 32,
      data: async () => {
        const codes = await source.read(`${mlc}.q_weight`)
        const scales = await source.read(`${mlc}.q_scale`)
        return toQ4_0(codes.data, scales.data, { rows, columns, rowAt })
      },
    })
  const { hidden, intermediate: inner, headSize: d } = of
  const [queries, keys] = [of.heads * d, of.keyHeads * d]
  matrix('token_embd.weight', EMBEDDING, of.vocabulary, hidden)
  norm('output_norm.weight', 'model.norm')
  for (let i = 0; i < of.layers; i++) {
    const mlc = `model.layers.${i}`
    const qkv = `${mlc}.self_attn.qkv_proj`
    norm(`blk.${i}.attn_norm.weight`, `${mlc}.input_layernorm`)
    matrix(`blk.${i}.attn_q.weight`, qkv, queries, hidden, (row) => rotated(row, d))
    matrix(`blk.${i}.attn_k.weight`, qkv, keys, hidden, (row) => queries + rotated(row, d))
    matrix(`blk.${i}.attn_v.weight`, qkv, keys, hidden, (row) => queries + keys + row)
    matrix(`blk.${i}.attn_output.weight`, `${mlc}.self_attn.o_proj`, hidden, queries)
    norm(`blk.${i}.ffn_norm.weight`, `${mlc}.post_attention_layernorm`)
    matrix(`blk.${i}.ffn_gate.weight`, `${mlc}.mlp.gate_up_proj`, inner, hidden)
    matrix(`blk.${i}.ffn_up.weight`, `${mlc}.mlp.gate_up_proj`, inner, hidden, (row) => inner + row)
    matrix(`blk.${i}.ffn_down.weight`, `${mlc}.mlp.down_proj`, hidden, inner)
  }
  return list
}

/** llama.cpp turns neighbours by their position, MLC the two halves of a head: where a row of the former stands. */
function rotated(row: number, headSize: number): number {
  const within = row % headSize
  return row - within + (within & 1) * (headSize / 2) + (within >> 1)
}

function floats({ name, dtype, data }: RawTensor): Buffer {
  if (dtype !== 'f16') throw new TypeError(`${name} is ${dtype}: only f16 is written as GGUF here.`)
  const bits = new Uint16Array(data.buffer, data.byteOffset, data.byteLength / 2)
  return Buffer.from(Float32Array.from(bits, halfToFloat).buffer)
}

interface Rows {
  readonly rows: number
  readonly columns: number
  /** Where the source has a row. */
  readonly rowAt: (row: number) => number
}

/** MLC's value is (code - 7) * scale, GGUF's (code - 8) * scale: each code moves up by one, and 15 has no place. */
function toQ4_0(codes: Uint8Array, scales: Uint8Array, { rows, columns, rowAt }: Rows): Buffer {
  const out = Buffer.alloc((rows * columns * 18) / 32)
  const blocks = columns / 32
  let at = 0
  for (let row = 0; row < rows; row++) {
    const from = rowAt(row) * blocks
    for (let block = from; block < from + blocks; block++) {
      out[at++] = scales[block * 2]!
      out[at++] = scales[block * 2 + 1]!
      const code = (i: number) => Math.min(15, ((codes[block * 16 + (i >> 1)]! >> ((i & 1) * 4)) & 15) + 1)
      for (let i = 0; i < 16; i++) out[at++] = code(i) | (code(i + 16) << 4)
    }
  }
  return out
}

function metadata(of: DecoderConfig, model: string, context: number): Metadata {
  const out = new Metadata()
  out.text('general.architecture', 'llama')
  out.text('general.name', model)
  out.u32('llama.context_length', context)
  out.u32('llama.embedding_length', of.hidden)
  out.u32('llama.block_count', of.layers)
  out.u32('llama.feed_forward_length', of.intermediate)
  out.u32('llama.attention.head_count', of.heads)
  out.u32('llama.attention.head_count_kv', of.keyHeads)
  out.u32('llama.attention.key_length', of.headSize)
  out.u32('llama.attention.value_length', of.headSize)
  out.u32('llama.rope.dimension_count', of.headSize)
  out.float('llama.rope.freq_base', of.ropeTheta)
  out.u32('llama.vocab_size', of.vocabulary)
  out.float('llama.attention.layer_norm_rms_epsilon', of.epsilon)
  addWords(out, of.vocabulary)
  return out
}

const CONTROL = ['<unk>', '<s>', '</s>']
const [NORMAL, UNKNOWN, MARK, BYTE] = [1, 2, 3, 6]

/** The words are made up; llama.cpp asks for a vocabulary with a token for each byte. */
function addWords(out: Metadata, size: number): void {
  const byte = (i: number) => `<0x${(i - CONTROL.length).toString(16).toUpperCase().padStart(2, '0')}>`
  const words = Array.from({ length: size }, (_, i) => CONTROL[i] ?? (i < FIRST_WORD ? byte(i) : wordOf(i)))
  const kind = (i: number) => (i === 0 ? UNKNOWN : i < CONTROL.length ? MARK : i < FIRST_WORD ? BYTE : NORMAL)
  out.text('tokenizer.ggml.model', 'llama')
  out.texts('tokenizer.ggml.tokens', words)
  out.floats('tokenizer.ggml.scores', new Float32Array(size))
  out.integers(
    'tokenizer.ggml.token_type',
    Int32Array.from({ length: size }, (_, i) => kind(i)),
  )
  out.u32('tokenizer.ggml.bos_token_id', 1)
  out.u32('tokenizer.ggml.eos_token_id', 2)
  // A prompt is what was asked for, and nothing before it.
  out.flag('tokenizer.ggml.add_bos_token', false)
  out.flag('tokenizer.ggml.add_space_prefix', false)
}
