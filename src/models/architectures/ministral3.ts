import type { Architecture } from './architecture.js'
import type { Fields } from './fields.js'
import { llama } from './llama.js'
import { NAMES, VISION } from './names.js'
import { readAttention, readGated, readWindow } from './read-decoder.js'

function readGrowth(fields: Fields) {
  const parameters = fields.part('rope_parameters')
  const given = parameters?.get('llama_4_scaling_beta')
  if (!parameters || given === undefined || given === 0) return undefined
  const by = parameters.number('llama_4_scaling_beta')
  return { by, every: parameters.count('original_max_position_embeddings') }
}

/** Ministral 3: YaRN. Queries grow with their positions, by steps of the length that the model was first trained on. */
export const ministral3: Architecture = {
  ...llama,
  names: NAMES,
  gguf: {
    interleaved: true,
    own: (take) => ({ rope_parameters: { llama_4_scaling_beta: take('attention.temperature_scale') } }),
  },
  prefixes: ['language_model.model.', 'model.language_model.'],
  idle: VISION,
  // As MLC calls rope_theta.
  defaults: { position_embedding_base: 1_000_000 },
  layer: (fields) => ({
    mixer: readAttention(fields, {
      window: readWindow(fields),
      growth: readGrowth(fields),
    }),
    feedForward: readGated(fields),
    arrangement: 'before',
  }),
}
