/** Small models as GGUF files, with weights and a vocabulary that are made up: every block of any type is a valid one. */
import { F32, Metadata, type Tensor, writeGgufFile } from '../../../../../bench/peers/gguf-file.js'
import { isBlockType } from '../../../../platform/block-types.js'
import { floatToHalf } from '../../../../platform/half.js'
import { byteName } from '../../../../platform/token-bytes.js'
import { blockValues } from './dequantize.js'
import { typeOf } from './types.js'

export interface MadeUp {
  /** The type of each tensor of a layer, by what follows `blk.N.`; `*` for all others. */
  readonly types: Readonly<Record<string, string>>
  /** @default 'llama' */
  readonly architecture?: 'llama' | 'qwen2' | 'qwen3'
  readonly vocabulary?: 'sentencepiece' | 'bpe'
  /** Of queries; half as many of keys. @default 4 */
  readonly heads?: number
  readonly version?: 2 | 3
  readonly metadata?: (out: Metadata) => void
  readonly chatTemplate?: string
  /** @default 512 */
  readonly contextLength?: number
  readonly factors?: Float32Array
  /** Written to `NAME-00001-of-0000N.gguf` and its like. @default one file */
  readonly parts?: number
}

export const SIZES = { hidden: 256, inner: 512, layers: 2, heads: 4, keyHeads: 2, headSize: 64 } as const

const SYLLABLES = ['ka', 'lo', 'mi', 're', 'su', 'ta', 'ne', 'po', 'vi', 'da', 'go', 'hu', 'ja', 'be', 'fi', 'zo']

/** Where a block has its scales, which must not be just any number. */
const HALVES: Readonly<Record<string, readonly number[]>> = {
  Q4_1: [0, 2],
  Q5_1: [0, 2],
  Q2_K: [80, 82],
  Q3_K: [108],
  Q4_K: [0, 2],
  Q5_K: [0, 2],
  Q6_K: [208],
}

export async function writeMadeUp(path: string, of: MadeUp): Promise<void> {
  const out = new Metadata()
  const { hidden, inner, layers } = SIZES
  const { architecture = 'llama', heads = SIZES.heads } = of
  const [keyHeads, headSize] = [heads / 2, hidden / heads]
  out.text('general.architecture', architecture)
  out.text('general.name', 'made up')
  out.u32(`${architecture}.context_length`, of.contextLength ?? 512)
  out.u32(`${architecture}.embedding_length`, hidden)
  out.u32(`${architecture}.block_count`, layers)
  out.u32(`${architecture}.feed_forward_length`, inner)
  out.u32(`${architecture}.attention.head_count`, heads)
  out.u32(`${architecture}.attention.head_count_kv`, keyHeads)
  out.u32(`${architecture}.rope.dimension_count`, headSize)
  out.float(`${architecture}.rope.freq_base`, 10000)
  out.float(`${architecture}.attention.layer_norm_rms_epsilon`, 1e-5)
  const size = addVocabulary(out, of.vocabulary ?? 'sentencepiece')
  out.u32(`${architecture}.vocab_size`, size)
  if (of.chatTemplate !== undefined) out.text('tokenizer.chat_template', of.chatTemplate)
  of.metadata?.(out)
  const typeFor = (name: string) => of.types[name.replace(/^blk\.\d+\./, '')] ?? of.types['*'] ?? 'F32'
  const matrix = (name: string, rows: number, columns: number): Tensor => {
    const label = typeFor(name)
    const data = blocksOf(label, rows * columns, name)
    return {
      name: `${name}.weight`,
      dims: [columns, rows],
      type: numberOf(label),
      bytes: data.length,
      data: async () => data,
    }
  }
  const vector = (name: string, values: Float32Array): Tensor => {
    const data = Buffer.from(values.buffer)
    return { name: `${name}.weight`, dims: [values.length], type: F32, bytes: data.length, data: async () => data }
  }
  const ones = () => new Float32Array(hidden).fill(1)
  const tensors = [matrix('token_embd', size, hidden), matrix('output', size, hidden), vector('output_norm', ones())]
  if (of.factors) tensors.push(vector('rope_freqs', of.factors))
  for (let i = 0; i < layers; i++) {
    const at = `blk.${i}.`
    tensors.push(vector(`${at}attn_norm`, ones()), vector(`${at}ffn_norm`, ones()))
    if (architecture === 'qwen2') {
      const bias = (length: number) => Float32Array.from({ length }, (_, row) => Math.sin(row + i) / 4)
      const lengths = { q: heads * headSize, k: keyHeads * headSize, v: keyHeads * headSize }
      for (const [each, length] of Object.entries(lengths)) {
        tensors.push({ ...vector('', bias(length)), name: `${at}attn_${each}.bias` })
      }
    }
    if (architecture === 'qwen3') {
      const gain = Float32Array.from({ length: headSize }, (_, n) => 1 + Math.cos(n) / 4)
      tensors.push(vector(`${at}attn_q_norm`, gain), vector(`${at}attn_k_norm`, gain))
    }
    tensors.push(matrix(`${at}attn_q`, heads * headSize, hidden), matrix(`${at}attn_k`, keyHeads * headSize, hidden))
    tensors.push(
      matrix(`${at}attn_v`, keyHeads * headSize, hidden),
      matrix(`${at}attn_output`, hidden, heads * headSize),
    )
    tensors.push(matrix(`${at}ffn_gate`, inner, hidden), matrix(`${at}ffn_up`, inner, hidden))
    tensors.push(matrix(`${at}ffn_down`, hidden, inner))
  }
  const { parts = 1, version } = of
  if (parts === 1) return writeGgufFile(path, out, tensors, version)
  const share = Math.ceil(tensors.length / parts)
  for (let i = 0; i < parts; i++) {
    const metadata = i === 0 ? out : new Metadata()
    metadata.u32('split.no', i)
    metadata.u32('split.count', parts)
    metadata.u32('split.tensors.count', tensors.length)
    await writeGgufFile(partOf(path, i, parts), metadata, tensors.slice(i * share, (i + 1) * share), version)
  }
}

/** As llama.cpp names the parts of a model. */
export function partOf(path: string, i: number, parts: number): string {
  const digits = (value: number) => String(value).padStart(5, '0')
  return path.replace(/\.gguf$/, `-${digits(i + 1)}-of-${digits(parts)}.gguf`)
}

export function numberOf(label: string): number {
  return Array.from({ length: 64 }, (_, i) => i).find((i) => typeOf(i).label === label)!
}

function seedOf(name: string): () => number {
  let state = [...name].reduce((hash, sign) => (Math.imul(hash, 31) + sign.charCodeAt(0)) >>> 0, 7)
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return (state ^ (state >>> 13)) >>> 0
  }
}

const made = new Map<string, Buffer>()

/** Made once: many files have the same. */
function blocksOf(label: string, count: number, name: string): Buffer {
  const key = `${label} ${count} ${name}`
  const data = made.get(key) ?? blocks(label, count, seedOf(name))
  made.set(key, data)
  return data
}

/** Values of about 0.06 in any type. */
function blocks(label: string, count: number, next: () => number): Buffer {
  const type = typeOf(numberOf(label))
  const normal = () => ((next() % 2001) / 1000 - 1) * 0.1
  if (!type.form || !isBlockType(type.form)) {
    const out = Buffer.alloc(count * type.bytes)
    for (let i = 0; i < count; i++) {
      if (label === 'F32') out.writeFloatLE(normal(), i * 4)
      else if (label === 'F16') out.writeUInt16LE(floatToHalf(normal()), i * 2)
      else out.writeUInt16LE(Buffer.from(Float32Array.of(normal()).buffer).readUInt16LE(2), i * 2)
    }
    return out
  }
  const { block, bytes, form } = type
  const out = Buffer.alloc((count / block) * bytes)
  for (let at = 0; at < out.length; at += bytes) {
    for (let i = 0; i < bytes; i++) out[at + i] = next() >>> 8
    const halves = HALVES[label] ?? [0]
    // What is added to all values of a group is about what takes their mean away.
    const ratio = /^Q\d_1$/.test(label)
      ? label === 'Q5_1'
        ? -15.5
        : -7.5
      : label === 'Q5_K'
        ? 15.5
        : label === 'Q2_K'
          ? 1.5
          : 7.5
    halves.forEach((offset, i) => {
      out.writeUInt16LE(floatToHalf(i === 0 ? 2 ** -6 : 2 ** -6 * ratio), at + offset)
    })
    const view = new DataView(out.buffer, out.byteOffset)
    const words = blockValues(form, out.subarray(at, at + bytes))
    const size = Math.sqrt(words.reduce((sum, value) => sum + value * value, 0) / block)
    for (const offset of halves) {
      const half = view.getUint16(at + offset, true)
      const value = (half & 0x8000 ? -1 : 1) * (1 + (half & 1023) / 1024) * 2 ** (((half >> 10) & 31) - 15)
      out.writeUInt16LE(floatToHalf((value * 0.06) / size), at + offset)
    }
  }
  return out
}

/** How many tokens there are. */
function addVocabulary(out: Metadata, kind: 'sentencepiece' | 'bpe'): number {
  return kind === 'bpe' ? addBpe(out) : addPieces(out)
}

function addPieces(out: Metadata): number {
  const [normal, unknown, control, user, byte] = [1, 2, 3, 4, 6]
  const tokens: [string, number, number][] = [
    ['<unk>', 0, unknown!],
    ['<s>', 0, control!],
    ['</s>', 0, control!],
    ['<note>', 0, user!],
  ]
  for (let i = 0; i < 256; i++) tokens.push([`<0x${i.toString(16).toUpperCase().padStart(2, '0')}>`, 0, byte!])
  let score = 0
  const add = (token: string) => {
    if (!tokens.some(([known]) => known === token)) tokens.push([token, --score, normal!])
  }
  for (const a of SYLLABLES) for (const b of SYLLABLES) add(`▁${a}${b}`)
  for (const a of SYLLABLES) add(a)
  for (const a of SYLLABLES) add(`▁${a}`)
  for (const a of SYLLABLES) for (const b of SYLLABLES.slice(0, 4)) add(a + b)
  add('▁▁')
  for (const sign of '▁abcdefghijklmnopqrstuvwxyz.,!?é') add(sign)
  out.text('tokenizer.ggml.model', 'llama')
  out.text('tokenizer.ggml.pre', 'default')
  out.texts(
    'tokenizer.ggml.tokens',
    tokens.map(([token]) => token),
  )
  out.floats(
    'tokenizer.ggml.scores',
    Float32Array.from(tokens, ([, value]) => value),
  )
  out.integers(
    'tokenizer.ggml.token_type',
    Int32Array.from(tokens, ([, , type]) => type),
  )
  out.u32('tokenizer.ggml.bos_token_id', 1)
  out.u32('tokenizer.ggml.eos_token_id', 2)
  out.u32('tokenizer.ggml.unknown_token_id', 0)
  out.flag('tokenizer.ggml.add_bos_token', false)
  return tokens.length
}

function addBpe(out: Metadata): number {
  const tokens = Array.from({ length: 256 }, (_, byte) => byteName(byte))
  const merges: string[] = []
  const merge = (a: string, b: string) => {
    if (tokens.includes(a + b)) return
    tokens.push(a + b)
    merges.push(`${a} ${b}`)
  }
  for (const [a, b] of SYLLABLES.map((each) => [...each])) merge(a!, b!)
  for (const a of SYLLABLES) merge('Ġ', a)
  for (const a of SYLLABLES) for (const b of SYLLABLES.slice(0, 4)) merge(a, b)
  for (const a of SYLLABLES) for (const b of SYLLABLES.slice(4, 8)) merge(`Ġ${a}`, b)
  const controls = ['<|im_start|>', '<|im_end|>']
  out.text('tokenizer.ggml.model', 'gpt2')
  out.text('tokenizer.ggml.pre', 'qwen2')
  out.texts('tokenizer.ggml.tokens', [...tokens, ...controls])
  out.texts('tokenizer.ggml.merges', merges)
  out.integers('tokenizer.ggml.token_type', Int32Array.from([...tokens.map(() => 1), ...controls.map(() => 3)]))
  out.u32('tokenizer.ggml.bos_token_id', tokens.length)
  out.u32('tokenizer.ggml.eos_token_id', tokens.length + 1)
  out.flag('tokenizer.ggml.add_bos_token', false)
  return tokens.length + controls.length
}
