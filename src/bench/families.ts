/** Models of other families than Llama by their shapes alone, under the names that transformers gives their tensors. */
import type { JsonObject } from '../platform/index.js'
import type { ModelShape } from './shapes.js'
import type { SyntheticModel, SyntheticTensor } from './synthetic.js'

const sizes = (
  [hidden, inner, layers]: readonly [hidden: number, inner: number, layers: number],
  [heads, keyHeads, headSize]: readonly [heads: number, keyHeads: number, headSize: number],
  vocabulary: number,
): ModelShape => ({ hidden, inner, layers, heads, keyHeads, headSize, vocabulary })

const LAYER = (i: number) => `model.layers.${i}`

function model(
  of: ModelShape,
  config: JsonObject,
  layer: (at: string, i: number) => SyntheticTensor[],
): SyntheticModel {
  return {
    naming: 'huggingface',
    config: {
      hidden_size: of.hidden,
      intermediate_size: of.inner,
      num_hidden_layers: of.layers,
      num_attention_heads: of.heads,
      num_key_value_heads: of.keyHeads,
      head_dim: of.headSize,
      vocab_size: of.vocabulary,
      // Room for a prompt of 32,000.
      max_position_embeddings: 40_960,
      tie_word_embeddings: true,
      ...config,
    },
    tensors: [
      ['model.embed_tokens', of.vocabulary, of.hidden],
      ...Array.from({ length: of.layers }, (_, i) => layer(LAYER(i), i)).flat(),
      ['model.norm.weight', of.hidden],
    ],
  }
}

const norms = (at: string, size: number, ...names: string[]) =>
  names.map((name): SyntheticTensor => [`${at}.${name}.weight`, size])

/** `gates`: as many rows for each query again. */
function attention(at: string, of: ModelShape, { out = 'o_proj', gates = false } = {}): SyntheticTensor[] {
  const { hidden, heads, keyHeads, headSize } = of
  const self = `${at}.self_attn`
  return [
    [`${self}.q_proj`, heads * headSize * (gates ? 2 : 1), hidden],
    [`${self}.k_proj`, keyHeads * headSize, hidden],
    [`${self}.v_proj`, keyHeads * headSize, hidden],
    [`${self}.${out}`, hidden, heads * headSize],
  ]
}

function mlp(at: string, { hidden, inner }: ModelShape, [gate, up, down] = ['gate_proj', 'up_proj', 'down_proj']) {
  return [
    [`${at}.${gate}`, inner, hidden],
    [`${at}.${up}`, inner, hidden],
    [`${at}.${down}`, hidden, inner],
  ] as SyntheticTensor[]
}

const BEFORE = ['input_layernorm', 'post_attention_layernorm']

function qwen3(of: ModelShape): SyntheticModel {
  return model(of, { model_type: 'qwen3', rope_theta: 1_000_000 }, (at) => [
    ...norms(at, of.hidden, ...BEFORE),
    ...norms(at, of.headSize, 'self_attn.q_norm', 'self_attn.k_norm'),
    ...attention(at, of),
    ...mlp(`${at}.mlp`, of),
  ])
}

/** Norms as plain weights, and nothing beside attention and MLP. */
function plain(of: ModelShape, config: JsonObject): SyntheticModel {
  return model(of, config, (at) => [...norms(at, of.hidden, ...BEFORE), ...attention(at, of), ...mlp(`${at}.mlp`, of)])
}

/** Three quarters of each head turn; projections that read the same lie in one matrix. */
function phi4(of: ModelShape): SyntheticModel {
  const { hidden, inner, heads, keyHeads, headSize } = of
  return model(of, { model_type: 'phi3', partial_rotary_factor: 0.75 }, (at) => [
    ...norms(at, hidden, ...BEFORE),
    [`${at}.self_attn.qkv_proj`, (heads + 2 * keyHeads) * headSize, hidden],
    [`${at}.self_attn.o_proj`, hidden, heads * headSize],
    [`${at}.mlp.gate_up_proj`, 2 * inner, hidden],
    [`${at}.mlp.down_proj`, hidden, inner],
  ])
}

/** Positions beyond the first 16,384 by YaRN, queries that grow with them. */
function ministral3(of: ModelShape): SyntheticModel {
  const rope_parameters = {
    rope_type: 'yarn',
    rope_theta: 1_000_000,
    factor: 16,
    original_max_position_embeddings: 16_384,
    mscale: 1,
    mscale_all_dim: 1,
    llama_4_scaling_beta: 0.1,
  }
  return plain(of, { model_type: 'ministral3', max_position_embeddings: 262_144, rope_parameters })
}

function granite(of: ModelShape): SyntheticModel {
  const factors = { embedding_multiplier: 12, residual_multiplier: 0.22, logits_scaling: 8 }
  const attention_multiplier = 1 / of.headSize
  return plain(of, { model_type: 'granite', rope_theta: 10_000_000, attention_multiplier, ...factors })
}

const smollm3 = (of: ModelShape) => plain(of, { model_type: 'smollm3', rope_theta: 5_000_000 })

function gemma3(of: ModelShape): SyntheticModel {
  const config = { model_type: 'gemma3_text', sliding_window: 512, hidden_activation: 'gelu_pytorch_tanh' }
  return model(of, config, (at) => [
    ...norms(at, of.hidden, ...BEFORE, 'pre_feedforward_layernorm', 'post_feedforward_layernorm'),
    ...norms(at, of.headSize, 'self_attn.q_norm', 'self_attn.k_norm'),
    ...attention(at, of),
    ...mlp(`${at}.mlp`, of),
  ])
}

/** Every fifth layer is full; the last `shared` have no keys and values of their own, and twice as large an MLP if `wide`. */
function gemma4(of: ModelShape, shared: number, wide: boolean): SyntheticModel {
  const [full, beside] = [512, 256]
  const isFull = (i: number) => (i + 1) % (wide ? 5 : 6) === 0
  const layer_types = Array.from({ length: of.layers }, (_, i) => (isFull(i) ? 'full_attention' : 'sliding_attention'))
  const config = {
    ...{ model_type: 'gemma4_text', layer_types, sliding_window: 512, hidden_activation: 'gelu_pytorch_tanh' },
    ...{ global_head_dim: full, num_kv_shared_layers: shared, use_double_wide_mlp: wide },
    ...{ hidden_size_per_layer_input: beside, vocab_size_per_layer_input: of.vocabulary, final_logit_softcapping: 30 },
  }
  const plain = model(of, config, (at, i) => {
    const own = i < of.layers - shared
    const sized = { ...of, headSize: isFull(i) ? full : of.headSize, inner: wide && !own ? 2 * of.inner : of.inner }
    const after = ['pre_feedforward_layernorm', 'post_feedforward_layernorm', 'post_per_layer_input_norm']
    return [
      ...norms(at, of.hidden, ...BEFORE, ...after),
      ...norms(at, sized.headSize, 'self_attn.q_norm', ...(own ? ['self_attn.k_norm'] : [])),
      ...attention(at, sized).filter(([name]) => own || !/[kv]_proj$/.test(name)),
      ...mlp(`${at}.mlp`, sized),
      [`${at}.per_layer_input_gate`, beside, of.hidden],
      [`${at}.per_layer_projection`, of.hidden, beside],
      [`${at}.layer_scalar`, 1],
    ]
  })
  const tensors: SyntheticTensor[] = [
    ['model.embed_tokens_per_layer', of.vocabulary, of.layers * beside],
    ['model.per_layer_model_projection', of.layers * beside, of.hidden],
    ['model.per_layer_projection_norm.weight', beside],
  ]
  return { ...plain, tensors: [...plain.tensors, ...tensors] }
}

/** `attends`: the layers of attention. */
function lfm2(of: ModelShape, attends: readonly number[]): SyntheticModel {
  const layer_types = Array.from({ length: of.layers }, (_, i) => (attends.includes(i) ? 'full_attention' : 'conv'))
  const config = { model_type: 'lfm2', layer_types, conv_L_cache: 3, block_auto_adjust_ff_dim: false }
  const plain = model(of, config, (at, i) => [
    ...norms(at, of.hidden, 'operator_norm', 'ffn_norm'),
    ...mlp(`${at}.feed_forward`, of, ['w1', 'w3', 'w2']),
    ...(attends.includes(i)
      ? [
          ...norms(at, of.headSize, 'self_attn.q_layernorm', 'self_attn.k_layernorm'),
          ...attention(at, of, { out: 'out_proj' }),
        ]
      : ([
          [`${at}.conv.in_proj`, 3 * of.hidden, of.hidden],
          [`${at}.conv.conv.weight`, of.hidden, 1, 3],
          [`${at}.conv.out_proj`, of.hidden, of.hidden],
        ] as SyntheticTensor[])),
  ])
  const named = plain.tensors.map(([name, ...shape]): SyntheticTensor => {
    return [name === 'model.norm.weight' ? 'model.embedding_norm.weight' : name, ...shape]
  })
  return { ...plain, tensors: named }
}

/** Linear attention with so many heads of keys and of values, of 128 values each. */
function qwen35(of: ModelShape, keyHeads: number, valueHeads: number): SyntheticModel {
  const [keys, values] = [keyHeads * 128, valueHeads * 128]
  const linear = {
    linear_num_key_heads: keyHeads,
    linear_num_value_heads: valueHeads,
    linear_key_head_dim: 128,
    linear_value_head_dim: 128,
    linear_conv_kernel_dim: 4,
  }
  return model(of, { model_type: 'qwen3_5_text', full_attention_interval: 4, ...linear }, (at, i) => [
    ...norms(at, of.hidden, ...BEFORE),
    ...mlp(`${at}.mlp`, of),
    ...((i + 1) % 4 === 0
      ? [...norms(at, of.headSize, 'self_attn.q_norm', 'self_attn.k_norm'), ...attention(at, of, { gates: true })]
      : ([
          [`${at}.linear_attn.in_proj_qkv`, 2 * keys + values, of.hidden],
          [`${at}.linear_attn.in_proj_z`, values, of.hidden],
          [`${at}.linear_attn.in_proj_b`, valueHeads, of.hidden],
          [`${at}.linear_attn.in_proj_a`, valueHeads, of.hidden],
          [`${at}.linear_attn.conv1d.weight`, 2 * keys + values, 1, 4],
          [`${at}.linear_attn.A_log`, valueHeads],
          [`${at}.linear_attn.dt_bias`, valueHeads],
          [`${at}.linear_attn.norm.weight`, 128],
          [`${at}.linear_attn.out_proj`, of.hidden, values],
        ] as SyntheticTensor[])),
  ])
}

export const FAMILIES: Readonly<Record<string, () => SyntheticModel>> = {
  'Qwen3-0.6B-like': () => qwen3(sizes([1024, 3072, 28], [16, 8, 128], 151_936)),
  'Qwen3.5-0.8B-like': () => qwen35(sizes([1024, 3584, 24], [8, 2, 256], 248_320), 16, 16),
  'Qwen3.5-2B-like': () => qwen35(sizes([2048, 6144, 24], [8, 2, 256], 248_320), 16, 16),
  'Qwen3.5-4B-like': () => qwen35(sizes([2560, 9216, 32], [16, 4, 256], 248_320), 16, 32),
  'Gemma-3-270M-like': () => gemma3(sizes([640, 2048, 18], [4, 1, 256], 262_144)),
  'Gemma-3-1B-like': () => gemma3(sizes([1152, 6912, 26], [4, 1, 256], 262_144)),
  'Gemma-4-E2B-like': () => gemma4(sizes([1536, 6144, 35], [8, 1, 256], 262_144), 20, true),
  'Gemma-4-E4B-like': () => gemma4(sizes([2560, 10_240, 42], [8, 2, 256], 262_144), 18, false),
  'LFM2-350M-like': () => lfm2(sizes([1024, 4608, 16], [16, 8, 64], 65_536), [2, 5, 8, 10, 12, 14]),
  'LFM2-1.2B-like': () => lfm2(sizes([2048, 8192, 16], [32, 8, 64], 65_536), [2, 5, 8, 10, 12, 14]),
  'Granite-4.0-1.6B-like': () => granite(sizes([2048, 4096, 40], [16, 4, 128], 100_352)),
  'Ministral-3-3B-like': () => ministral3(sizes([3072, 9216, 26], [32, 8, 128], 131_072)),
  'Phi-4-mini-3.8B-like': () => phi4(sizes([3072, 8192, 32], [24, 8, 128], 200_064)),
  'SmolLM3-3B-like': () => smollm3(sizes([2048, 11_008, 36], [16, 4, 128], 128_256)),
}
