/** Small random models of every architecture, as a repository has them and as plain numbers. */

import { Chance, type Format, knownMatrix } from '../device/operations/numbers.test-helper.js'
import { floatToHalf, halfToFloat } from '../platform/half.js'
import type { RawTensor, WeightSource } from './files/source.js'

export interface RandomModel {
  readonly source: WeightSource
  /** Plain values by the name without `.weight` or `.q_weight`; biases and norms by their whole name. */
  readonly values: ReadonlyMap<string, Float64Array>
}

export interface Preset {
  readonly name: string
  readonly config: Readonly<Record<string, unknown>>
  readonly model: Readonly<Record<string, unknown>>
  /** Matrices that have a bias. */
  readonly biased?: readonly ('qkv' | 'o_proj' | 'gate_up_proj' | 'down_proj')[]
  readonly headNorm?: boolean
}

const BASE = {
  hidden_size: 64,
  intermediate_size: 160,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  vocab_size: 88,
  rms_norm_eps: 1e-5,
  context_window_size: 256,
}

export const PRESETS: readonly Preset[] = [
  {
    name: 'Llama 2',
    config: { model_type: 'llama' },
    model: { ...BASE, num_key_value_heads: 4, position_embedding_base: 10000 },
  },
  {
    name: 'Llama 3.2',
    config: { model_type: 'llama' },
    model: {
      ...BASE,
      head_dim: 16,
      position_embedding_base: 500000,
      tie_word_embeddings: true,
      rope_scaling: {
        rope_type: 'llama3',
        factor: 32,
        low_freq_factor: 1,
        high_freq_factor: 4,
        original_max_position_embeddings: 64,
      },
    },
  },
  {
    name: 'SmolLM2',
    config: { model_type: 'llama' },
    model: { ...BASE, num_attention_heads: 6, num_key_value_heads: 2, hidden_size: 96, tie_word_embeddings: true },
  },
  {
    name: 'Qwen2',
    config: { model_type: 'qwen2' },
    model: { ...BASE, rope_theta: 1000000, sliding_window: 32, use_sliding_window: false },
    biased: ['qkv'],
  },
  {
    name: 'Qwen3',
    config: { model_type: 'qwen3' },
    model: { ...BASE, head_dim: 32, num_key_value_heads: 1, rope_theta: 1000000, tie_word_embeddings: true },
    headNorm: true,
  },
  {
    name: 'Mistral',
    config: { model_type: 'mistral', sliding_window_size: 21 },
    model: { ...BASE },
  },
  {
    name: 'Llama with biases',
    config: { model_type: 'llama' },
    model: { ...BASE, attention_bias: true, mlp_bias: true },
    biased: ['qkv', 'o_proj', 'gate_up_proj', 'down_proj'],
  },
  {
    name: 'Llama with YaRN',
    config: { model_type: 'llama' },
    model: {
      ...BASE,
      rope_parameters: { rope_type: 'yarn', rope_theta: 500, factor: 8, original_max_position_embeddings: 64 },
    },
  },
]

/** What MLC calls a format. */
export const QUANTISATIONS: Readonly<Record<string, Format>> = {
  q4f16_1: 'q4f16',
  q4f32_1: 'q4f32',
  q0f16: 'f16',
  q0bf16: 'bf16',
  q0f32: 'f32',
}

export function randomModel(preset: Preset, format: Format, seed: number): RandomModel {
  const chance = new Chance(seed)
  const tensors = new Map<string, RawTensor>()
  const values = new Map<string, Float64Array>()
  const number = (key: string, otherwise?: number) => (preset.model[key] as number | undefined) ?? otherwise!
  const hidden = number('hidden_size')
  const heads = number('num_attention_heads')
  const headSize = number('head_dim', hidden / heads)
  const inner = number('intermediate_size')
  const width = (heads + 2 * number('num_key_value_heads')) * headSize
  const put = (tensor: RawTensor) => tensors.set(tensor.name, tensor)

  const matrix = (name: string, rows: number, columns: number, scale = 1.4 / Math.sqrt(columns)) => {
    const { data, values: plain } = knownMatrix(chance, format, rows, columns, scale)
    values.set(name, plain)
    if (data.format !== 'q4') {
      put({ name: `${name}.weight`, shape: [rows, columns], dtype: data.format, data: data.data })
      return
    }
    put({ name: `${name}.q_weight`, shape: [rows, columns / 8], dtype: 'u32', data: data.codes })
    put({ name: `${name}.q_scale`, shape: [rows, columns / 32], dtype: data.scaleType, data: data.scales })
  }
  const half = format === 'q4f16' || format === 'f16'
  const vector = (name: string, length: number, middle: number) => {
    const plain = Float64Array.from({ length }, () => Math.fround(middle + chance.normal() * 0.2))
    const bits = Uint16Array.from(plain, floatToHalf)
    if (half) plain.set(Array.from(bits, halfToFloat))
    values.set(name, plain)
    const stored = half ? bits : Float32Array.from(plain)
    put({ name, shape: [length], dtype: half ? 'f16' : 'f32', data: new Uint8Array(stored.buffer) })
  }

  const has = (name: NonNullable<Preset['biased']>[number]) => preset.biased?.includes(name)

  matrix('model.embed_tokens', number('vocab_size'), hidden, 1)
  for (let i = 0; i < number('num_hidden_layers'); i++) {
    const at = `model.layers.${i}`
    const qkv = `${at}.self_attn.${preset.config.model_type?.toString().startsWith('qwen') ? 'c_attn' : 'qkv_proj'}`
    vector(`${at}.input_layernorm.weight`, hidden, 1)
    matrix(qkv, width, hidden)
    if (has('qkv')) vector(`${qkv}.bias`, width, 0)
    if (preset.headNorm) {
      vector(`${at}.self_attn.q_norm.weight`, headSize, 1)
      vector(`${at}.self_attn.k_norm.weight`, headSize, 1)
    }
    matrix(`${at}.self_attn.o_proj`, hidden, heads * headSize)
    if (has('o_proj')) vector(`${at}.self_attn.o_proj.bias`, hidden, 0)
    vector(`${at}.post_attention_layernorm.weight`, hidden, 1)
    matrix(`${at}.mlp.gate_up_proj`, 2 * inner, hidden)
    if (has('gate_up_proj')) vector(`${at}.mlp.gate_up_proj.bias`, 2 * inner, 0)
    matrix(`${at}.mlp.down_proj`, hidden, inner)
    if (has('down_proj')) vector(`${at}.mlp.down_proj.bias`, hidden, 0)
  }
  vector('model.norm.weight', hidden, 1)
  if (!preset.model.tie_word_embeddings) matrix('lm_head', number('vocab_size'), hidden)
  return { source: sourceOf(preset, tensors), values }
}

function sourceOf(preset: Preset, tensors: ReadonlyMap<string, RawTensor>): WeightSource {
  const get = (name: string) => {
    const tensor = tensors.get(name)
    if (!tensor) throw new Error(`There is no tensor ${name}.`)
    return tensor
  }
  return {
    chatConfig: { ...preset.config, model_config: preset.model },
    names: [...tensors.keys()],
    has: (name) => tensors.has(name),
    describe: get,
    read: async (name) => get(name),
    digest: preset.name,
  }
}
