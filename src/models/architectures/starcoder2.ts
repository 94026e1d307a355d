import type { Architecture } from './architecture.js'
import { llama } from './llama.js'
import { NAMES } from './names.js'
import { GGUF_LAYER_NORMS, readGated, readLayerNormed, readWindow } from './read-decoder.js'

const MLP = 'model.layers.#.mlp'

/** StarCoder 2: layer norms, an MLP without gates, biases everywhere, and one window for all layers. */
export const starcoder2: Architecture = {
  ...llama,
  names: {
    huggingface: { ...NAMES.huggingface, up: `${MLP}.c_fc`, down: `${MLP}.c_proj` },
    gguf: { ...NAMES.gguf, up: 'blk.#.ffn_up' },
  },
  gguf: { own: GGUF_LAYER_NORMS.own! },
  read(fields) {
    fields.word('norm_type', ['layer_norm'], 'layer_norm')
    // Of training.
    fields.get('residual_dropout')
    const window = readWindow(fields)
    const { size } = readGated(fields)
    const given = fields.withDefaults({ layer_norm_eps: fields.get('norm_epsilon') })
    return readLayerNormed(given, {
      gate: 'gelu',
      biased: fields.flag('use_bias', true) ? ['qkv', 'output', 'up', 'down'] : [],
      window: () => window,
      feedForward: () => ({ kind: 'ungated', size }),
    })
  },
}
