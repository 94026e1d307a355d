import type { Architecture, Names } from './architecture.js'
import { NAMES } from './names.js'
import { inLayerNorms, readAttention, readGated, slidesAllBut, where } from './read-decoder.js'

const NAMED: Readonly<Record<'huggingface' | 'gguf', Names>> = { huggingface: NAMES.huggingface, gguf: NAMES.gguf }

/** Command R: attention and MLP side by side, behind one norm that takes the mean away; neighbours are turned. */
export const cohere: Architecture = {
  names: NAMED,
  interleaved: true,
  gguf: {
    own: (take) => ({
      layer_norm_eps: take('attention.layer_norm_epsilon'),
      logit_scale: take('logit_scale'),
    }),
  },
  defaults: { tie_word_embeddings: true },
  only: { use_qk_norm: false, use_gated_activation: true, use_parallel_block: true },
  prepare: inLayerNorms,
  beside: (fields) => ({ centred: true, logitScale: fields.number('logit_scale', 0.0625) }),
  layer: (fields) => ({
    mixer: readAttention(fields),
    feedForward: readGated(fields),
    arrangement: 'parallel',
  }),
}

/** Command R7B and its like: three of four layers see a window, and the fourth, which sees all, has no positions. */
export const cohere2: Architecture = {
  ...cohere,
  layer: (fields) => ({
    mixer: where(
      slidesAllBut(fields, fields.count('sliding_window_pattern', 4)),
      readAttention(fields, { window: fields.count('sliding_window', 4096) }),
      readAttention(fields, { rope: false }),
    ),
    feedForward: readGated(fields),
    arrangement: 'parallel',
  }),
}
