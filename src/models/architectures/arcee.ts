import type { Architecture } from './architecture.js'
import { llama } from './llama.js'
import { NAMES } from './names.js'
import { readAttention, readUngated } from './read-decoder.js'

/** Llama with an MLP without gates, whose activation is relu times itself. */
export const arcee: Architecture = {
  ...llama,
  names: {
    huggingface: { ...NAMES.huggingface, up: 'model.layers.#.mlp.up_proj' },
    gguf: { ...NAMES.gguf, up: 'blk.#.ffn_up' },
  },
  gguf: { interleaved: true, own: () => ({ hidden_act: 'relu2' }) },
  layer: (fields) => ({
    mixer: readAttention(fields),
    feedForward: readUngated(fields, { gate: 'relu2' }),
    arrangement: 'before',
  }),
}
