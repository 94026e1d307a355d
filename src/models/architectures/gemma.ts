import type { Architecture } from './architecture.js'
import { NAMES } from './names.js'
import { readAttention, readGated } from './read-decoder.js'

/** The first Gemma: norms by one plus their weights, and a gelu by tanh, whatever `hidden_act` calls it. */
export const gemma: Architecture = {
  names: NAMES,
  gguf: { own: () => ({ tie_word_embeddings: true }) },
  defaults: { rms_norm_eps: 1e-6, tie_word_embeddings: true, head_dim: 256 },
  beside: (_, { hidden }) => ({ normOffset: 1, embeddingScale: Math.sqrt(hidden) }),
  layer: (fields) => ({
    mixer: readAttention(fields),
    feedForward: readGated(fields, { gate: 'gelu', called: ['gelu', 'gelu_pytorch_tanh'] }),
    arrangement: 'before',
  }),
}
