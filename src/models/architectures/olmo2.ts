import type { Architecture } from './architecture.js'
import { llama } from './llama.js'
import { AFTER, GGUF_AFTER, NAMES } from './names.js'
import { readAttention, readGated } from './read-decoder.js'

/** Norms stand after attention and MLP only; queries and keys are normed over all their heads together. */
export const olmo2: Architecture = {
  ...llama,
  names: {
    huggingface: { ...NAMES.huggingface, ...AFTER },
    mlc: { ...NAMES.mlc, ...AFTER },
    gguf: { ...NAMES.gguf, ...GGUF_AFTER },
  },
  gguf: {},
  layer: (fields) => ({
    mixer: readAttention(fields, { queryKeyNorm: 'row' }),
    feedForward: readGated(fields),
    arrangement: 'after',
  }),
}
