import type { Architecture } from './architecture.js'
import { olmo2 } from './olmo2.js'
import { readDecoder, readLayerTypes } from './read-decoder.js'

/** Norms stand after attention and MLP only, and each head of queries and keys is normed by itself. */
export const exaone4: Architecture = {
  ...olmo2,
  names: { huggingface: olmo2.names.huggingface!, gguf: olmo2.names.gguf! },
  read(fields) {
    // With windows, as in the 32B, the layers that have none turn nothing.
    for (const key of ['sliding_window', 'sliding_window_pattern']) {
      const value = fields.get(key)
      if (value !== undefined && value !== null) throw fields.odd(key, value)
    }
    const slides = readLayerTypes(fields, fields.count('num_hidden_layers'))
    if (slides?.(0)) throw fields.odd('layer_types', 'sliding_attention')
    return readDecoder(fields, { arrangement: 'after', queryKeyNorm: 'head' })
  },
}
