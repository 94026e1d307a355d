import type { Architecture } from './architecture.js'
import type { Fields } from './fields.js'
import { NAMES } from './names.js'
import { readAnglesOfPart } from './read-angles.js'
import { GGUF_LAYER_NORMS, LAYER_NORMED, readAttention, readUngated } from './read-decoder.js'

const LAYER = 'model.layers.#'
const MLC = 'transformer.h.#'

/** MLC calls the fields of Phi 2 as its first publication did. */
function inOtherWords(fields: Fields): Fields {
  const hidden = fields.limit('n_embd')
  const turned = fields.limit('rotary_dim')
  const heads = fields.limit('n_head')
  if (hidden === undefined || heads === undefined) return fields
  return fields.withDefaults({
    hidden_size: hidden,
    num_attention_heads: heads,
    num_key_value_heads: fields.get('n_head_kv'),
    num_hidden_layers: fields.get('n_layer'),
    intermediate_size: fields.limit('n_inner') ?? 4 * hidden,
    max_position_embeddings: fields.get('n_positions'),
    layer_norm_eps: fields.get('layer_norm_epsilon'),
    ...(turned && { partial_rotary_factor: turned / fields.number('head_dim', hidden / heads) }),
  })
}

/** Phi 1, 1.5 and 2: attention and MLP side by side behind one layer norm, and biases wherever there is a product. */
export const phi: Architecture = {
  names: {
    huggingface: {
      ...NAMES.huggingface,
      norm: 'model.final_layernorm',
      output: `${LAYER}.self_attn.dense`,
      up: `${LAYER}.mlp.fc1`,
      down: `${LAYER}.mlp.fc2`,
    },
    gguf: { ...NAMES.gguf, up: 'blk.#.ffn_up' },
    mlc: {
      embedding: 'transformer.embd',
      norm: 'lm_head.ln',
      head: 'lm_head.linear',
      attentionNorm: `${MLC}.ln`,
      qkv: `${MLC}.mixer.Wqkv`,
      output: `${MLC}.mixer.out_proj`,
      up: `${MLC}.mlp.fc1`,
      down: `${MLC}.mlp.fc2`,
    },
  },
  // Of older converters.
  others: { gguf: [{ qkv: 'blk.#.attn_qkv' }] },
  gguf: GGUF_LAYER_NORMS,
  only: { qk_layernorm: false },
  prepare: (fields) => LAYER_NORMED.prepare(inOtherWords(fields)),
  beside: () => ({ ...LAYER_NORMED.beside(), headBias: true }),
  layer: (fields) => ({
    mixer: readAttention(fields, { angles: readAnglesOfPart(fields, 0.5) }),
    feedForward: readUngated(fields, { gate: 'gelu' }),
    arrangement: 'parallel',
    biased: ['qkv', 'output', 'up', 'down'],
  }),
}
