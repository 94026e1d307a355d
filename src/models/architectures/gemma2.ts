import type { Architecture } from './architecture.js'
import { GEMMA_NORMS, gemmaScale } from './gemma3.js'
import { GGUF_AFTER, NAMES } from './names.js'
import { readDecoder, readLayerTypes } from './read-decoder.js'

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
  read(fields) {
    const slides = readLayerTypes(fields, fields.count('num_hidden_layers')) ?? ((layer: number) => layer % 2 === 0)
    const size = fields.count('sliding_window', fields.limit('sliding_window_size') ?? 4096)
    const scoreCap = fields.limit('attn_logit_softcapping')
    const logitCap = fields.limit('final_logit_softcapping')
    const plan = readDecoder(fields.withDefaults({ rms_norm_eps: 1e-6, tie_word_embeddings: true, head_dim: 256 }), {
      arrangement: 'both',
      gate: 'gelu',
      scale: fields.number('query_pre_attn_scalar', 256) ** -0.5,
      layer: (layer) => ({ ...(slides(layer) && { window: size }), ...(scoreCap && { scoreCap }) }),
    })
    return { ...plan, ...(logitCap && { logitCap }), normOffset: 1, embeddingScale: Math.sqrt(plan.hidden) }
  },
}
