import type { Architecture } from './architecture.js'
import { llama } from './llama.js'
import { NAMES } from './names.js'
import { GGUF_LAYER_NORMS, LAYER_NORMED, readAttention, readUngated, readWindow } from './read-decoder.js'

const MLP = 'model.layers.#.mlp'

/** StarCoder 2: layer norms, an MLP without gates, biases everywhere, and one window for all layers. */
export const starcoder2: Architecture = {
  ...llama,
  names: {
    huggingface: { ...NAMES.huggingface, up: `${MLP}.c_fc`, down: `${MLP}.c_proj` },
    gguf: { ...NAMES.gguf, up: 'blk.#.ffn_up' },
  },
  gguf: { own: GGUF_LAYER_NORMS.own! },
  ...LAYER_NORMED,
  // Of training.
  unused: ['residual_dropout'],
  prepare(fields) {
    fields.word('norm_type', ['layer_norm'], 'layer_norm')
    return LAYER_NORMED.prepare(fields.withDefaults({ layer_norm_eps: fields.get('norm_epsilon') }))
  },
  layer: (fields) => ({
    mixer: readAttention(fields, { window: readWindow(fields) }),
    feedForward: readUngated(fields, { gate: 'gelu' }),
    arrangement: 'before',
    biased: fields.flag('use_bias', true) ? ['qkv', 'output', 'up', 'down'] : [],
  }),
}
