import type { Architecture } from './architecture.js'
import { olmo2 } from './olmo2.js'
import { readAttention, readGated, readLayerTypes } from './read-decoder.js'

/** Norms stand after attention and MLP only, and each head of queries and keys is normed by itself. */
export const exaone4: Architecture = {
  ...olmo2,
  names: { huggingface: olmo2.names.huggingface!, gguf: olmo2.names.gguf! },
  prepare(fields) {
    // With windows, as in the 32B, the layers that have none turn nothing.
    for (const key of ['sliding_window', 'sliding_window_pattern']) {
      const value = fields.get(key)
      if (value !== undefined && value !== null) throw fields.odd(key, value)
    }
    if (readLayerTypes(fields)?.(0)) throw fields.odd('layer_types', 'sliding_attention')
  },
  layer: (fields) => ({
    mixer: readAttention(fields, { queryKeyNorm: 'head' }),
    feedForward: readGated(fields),
    arrangement: 'after',
  }),
}
