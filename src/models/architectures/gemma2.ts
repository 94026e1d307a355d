import type { Architecture } from './architecture.js'
import { GEMMA_NORMS, gemmaScale, readScale, readSliding } from './gemma3.js'
import { GGUF_AFTER, NAMES } from './names.js'
import { readAttention, readGated, slidesAllBut } from './read-decoder.js'

/** Gemma 2: scores and logits are capped, and every second layer, the first among them, sees a window. */
export const gemma2: Architecture = {
  names: {
    huggingface: { ...NAMES.huggingface, ...GEMMA_NORMS },
    mlc: { ...NAMES.mlc, ...GEMMA_NORMS },
    gguf: { ...NAMES.gguf, ...GGUF_AFTER },
  },
  gguf: {
    own: (take, config) => ({
      attn_logit_softcapping: take('attn_logit_softcapping'),
      final_logit_softcapping: take('final_logit_softcapping'),
      ...gemmaScale(config, 46),
    }),
  },
  defaults: { rms_norm_eps: 1e-6, tie_word_embeddings: true, head_dim: 256 },
  beside(fields, { hidden }) {
    const logitCap = fields.limit('final_logit_softcapping')
    return { ...(logitCap && { logitCap }), normOffset: 1, embeddingScale: Math.sqrt(hidden) }
  },
  layer: (fields) => ({
    mixer: readAttention(fields, {
      scale: readScale(fields),
      scoreCap: fields.limit('attn_logit_softcapping'),
      window: readSliding(fields),
      slides: slidesAllBut(fields, 2),
    }),
    feedForward: readGated(fields, { gate: 'gelu' }),
    arrangement: 'both',
  }),
}
