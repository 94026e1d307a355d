import type { Architecture } from './architecture.js'
import { NAMES } from './names.js'
import { readDecoder } from './read-decoder.js'

const GELU = 'gelu_pytorch_tanh'

/** The first Gemma: norms by one plus their weights, and a gelu by tanh, whatever `hidden_act` calls it. */
export const gemma: Architecture = {
  names: NAMES,
  gguf: { own: () => ({ tie_word_embeddings: true }) },
  read(fields) {
    fields.word('hidden_act', ['gelu', GELU], 'gelu')
    fields.word('hidden_activation', ['gelu', GELU], 'gelu')
    const defaults = { rms_norm_eps: 1e-6, tie_word_embeddings: true, head_dim: 256 }
    const known = fields.withDefaults(defaults).replaced({ hidden_act: GELU, hidden_activation: GELU })
    const plan = readDecoder(known, { gate: 'gelu' })
    return { ...plan, normOffset: 1, embeddingScale: Math.sqrt(plan.hidden) }
  },
}
