import type { Architecture } from './architecture.js'
import { llama } from './llama.js'
import { NAMES } from './names.js'
import { readDecoder } from './read-decoder.js'

/** Llama with four factors. */
export const granite: Architecture = {
  ...llama,
  names: { huggingface: NAMES.huggingface, gguf: NAMES.gguf },
  gguf: {
    interleaved: true,
    own: (take) => ({
      attention_multiplier: take('attention.scale'),
      embedding_multiplier: take('embedding_scale'),
      residual_multiplier: take('residual_scale'),
      logits_scaling: take('logit_scale'),
    }),
  },
  read: (fields) => ({
    ...readDecoder(fields, { scale: fields.number('attention_multiplier', 1) }),
    embeddingScale: fields.number('embedding_multiplier', 1),
    residualScale: fields.number('residual_multiplier', 1),
    logitScale: 1 / fields.number('logits_scaling', 1),
  }),
}
