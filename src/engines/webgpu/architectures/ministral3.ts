import type { Architecture } from './architecture.js'
import { llama } from './llama.js'
import { NAMES, VISION } from './names.js'
import { readAngles } from './read-angles.js'
import { readDecoder, readWindow } from './read-decoder.js'

/**
 * Ministral 3: YaRN. Queries grow beyond the length that the model was first trained on, by steps of it; within it, which
 * is how long a context may be here, they do not.
 */
export const ministral3: Architecture = {
  ...llama,
  names: { huggingface: NAMES.huggingface, gguf: NAMES.gguf },
  gguf: {
    interleaved: true,
    own: (take) => ({ rope_parameters: { llama_4_scaling_beta: take('attention.temperature_scale') } }),
  },
  prefixes: ['language_model.model.', 'model.language_model.'],
  idle: VISION,
  read(fields) {
    const window = readWindow(fields)
    const parameters = fields.part('rope_parameters')
    const grows = parameters?.get('llama_4_scaling_beta') !== undefined
    const plan = readDecoder(fields, {
      window: () => window,
      angles: (headSize) => readAngles(fields, headSize, parameters, 1_000_000),
    })
    const first = grows ? parameters?.count('original_max_position_embeddings') : undefined
    return { ...plan, contextLength: Math.min(plan.contextLength, first ?? plan.contextLength) }
  },
}
