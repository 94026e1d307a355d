/** Models by their shapes alone: synthetic 4-bit weights of the sizes that people run. */
import type { RawTensor, TensorType, WeightSource } from '../repository/source.js'

export interface ModelShape {
  readonly hidden: number
  readonly inner: number
  readonly layers: number
  readonly heads: number
  readonly keyHeads: number
  readonly headSize: number
  readonly vocabulary: number
}

export const SHAPES: Readonly<Record<string, ModelShape>> = {
  'nano-like': { hidden: 192, inner: 384, layers: 5, heads: 4, keyHeads: 2, headSize: 64, vocabulary: 4096 },
  'stories15M-like': { hidden: 288, inner: 768, layers: 6, heads: 6, keyHeads: 6, headSize: 48, vocabulary: 32000 },
  'SmolLM2-135M-like': {
    hidden: 576,
    inner: 1536,
    layers: 30,
    heads: 9,
    keyHeads: 3,
    headSize: 64,
    vocabulary: 49152,
  },
  'SmolLM2-360M-like': {
    hidden: 960,
    inner: 2560,
    layers: 32,
    heads: 15,
    keyHeads: 5,
    headSize: 64,
    vocabulary: 49152,
  },
  'Qwen2.5-0.5B-like': {
    hidden: 896,
    inner: 4864,
    layers: 24,
    heads: 14,
    keyHeads: 2,
    headSize: 64,
    vocabulary: 151936,
  },
  'Llama-3.2-1B-like': {
    hidden: 2048,
    inner: 8192,
    layers: 16,
    heads: 32,
    keyHeads: 8,
    headSize: 64,
    vocabulary: 128256,
  },
  'Llama-3.2-3B-like': {
    hidden: 3072,
    inner: 8192,
    layers: 28,
    heads: 24,
    keyHeads: 8,
    headSize: 128,
    vocabulary: 128256,
  },
  'Llama-3.1-8B-like': {
    hidden: 4096,
    inner: 14336,
    layers: 32,
    heads: 32,
    keyHeads: 8,
    headSize: 128,
    vocabulary: 128256,
  },
}

interface Description {
  readonly shape: readonly number[]
  readonly dtype: TensorType
}

/** Random weights in q4f16_1, made when they are read. */
export function syntheticSource(shape: ModelShape, seed = 1): WeightSource {
  const tensors = describeAll(shape)
  const describe = (name: string) => {
    const found = tensors.get(name)
    if (!found) throw new Error(`There is no tensor ${name}.`)
    return { name, ...found }
  }
  return {
    chatConfig: {
      model_type: 'llama',
      model_config: {
        hidden_size: shape.hidden,
        intermediate_size: shape.inner,
        num_hidden_layers: shape.layers,
        num_attention_heads: shape.heads,
        num_key_value_heads: shape.keyHeads,
        head_dim: shape.headSize,
        vocab_size: shape.vocabulary,
        rms_norm_eps: 1e-5,
        context_window_size: 8192,
        tie_word_embeddings: true,
        position_embedding_base: 500000,
      },
    },
    names: [...tensors.keys()],
    has: (name) => tensors.has(name),
    describe,
    async read(name): Promise<RawTensor> {
      const { shape: sides, dtype } = describe(name)
      const count = sides.reduce((a, b) => a * b)
      if (dtype === 'u32') {
        // By its name, not by when it is read: engines that read in different orders get the same weights.
        let state = [...name].reduce((hash, sign) => (Math.imul(hash, 31) + sign.charCodeAt(0)) >>> 0, seed)
        const next = () => {
          state = (Math.imul(state, 1664525) + 1013904223) >>> 0
          return state
        }
        const words = new Uint32Array(count)
        for (let i = 0; i < count; i++) words[i] = next() ^ (next() >>> 13)
        return { name, shape: sides, dtype, data: new Uint8Array(words.buffer) }
      }
      // 2^-7 for scales and 1 for norms are of a usual size; with 2^-5 the logits are as peaked as a real model's.
      const scale = name.startsWith('model.embed_tokens') ? 0x2800 : 0x2000
      const halves = new Uint16Array(count).fill(name.endsWith('q_scale') ? scale : 0x3c00)
      return { name, shape: sides, dtype, data: new Uint8Array(halves.buffer) }
    },
    digest: 'synthetic',
  }
}

function describeAll({ hidden, inner, layers, heads, keyHeads, headSize, vocabulary }: ModelShape) {
  const tensors = new Map<string, Description>()
  const matrix = (name: string, rows: number, columns: number) => {
    tensors.set(`${name}.q_weight`, { shape: [rows, columns / 8], dtype: 'u32' })
    tensors.set(`${name}.q_scale`, { shape: [rows, columns / 32], dtype: 'f16' })
  }
  const vector = (name: string) => tensors.set(name, { shape: [hidden], dtype: 'f16' })
  matrix('model.embed_tokens', vocabulary, hidden)
  for (let i = 0; i < layers; i++) {
    const at = `model.layers.${i}`
    vector(`${at}.input_layernorm.weight`)
    vector(`${at}.post_attention_layernorm.weight`)
    matrix(`${at}.self_attn.qkv_proj`, (heads + 2 * keyHeads) * headSize, hidden)
    matrix(`${at}.self_attn.o_proj`, hidden, heads * headSize)
    matrix(`${at}.mlp.gate_up_proj`, 2 * inner, hidden)
    matrix(`${at}.mlp.down_proj`, hidden, inner)
  }
  vector('model.norm.weight')
  return tensors
}
