/** Models by their shapes alone: synthetic 4-bit weights of the sizes that people run. */
import type { WeightSource } from '../models/index.js'
import { type SyntheticTensor, syntheticWeights } from './synthetic.js'

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
  /** For a GPU in software. */
  'pico-like': { hidden: 64, inner: 128, layers: 2, heads: 2, keyHeads: 1, headSize: 32, vocabulary: 1024 },
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

/** Random weights in q4f16_1, made when they are read. */
export function syntheticSource(shape: ModelShape): WeightSource {
  const { hidden, inner, layers, heads, keyHeads, headSize, vocabulary } = shape
  const at = (i: number) => `model.layers.${i}`
  const model_config = {
    hidden_size: hidden,
    intermediate_size: inner,
    num_hidden_layers: layers,
    num_attention_heads: heads,
    num_key_value_heads: keyHeads,
    head_dim: headSize,
    vocab_size: vocabulary,
    rms_norm_eps: 1e-5,
    context_window_size: 65_536,
    tie_word_embeddings: true,
    position_embedding_base: 500000,
  }
  const tensors = Array.from({ length: layers }, (_, i): SyntheticTensor[] => [
    [`${at(i)}.input_layernorm.weight`, hidden],
    [`${at(i)}.post_attention_layernorm.weight`, hidden],
    [`${at(i)}.self_attn.qkv_proj`, (heads + 2 * keyHeads) * headSize, hidden],
    [`${at(i)}.self_attn.o_proj`, hidden, heads * headSize],
    [`${at(i)}.mlp.gate_up_proj`, 2 * inner, hidden],
    [`${at(i)}.mlp.down_proj`, hidden, inner],
  ])
  return syntheticWeights({
    naming: 'mlc',
    config: { model_type: 'llama', model_config },
    tensors: [['model.embed_tokens', vocabulary, hidden], ...tensors.flat(), ['model.norm.weight', hidden]],
  })
}
