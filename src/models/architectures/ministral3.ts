import type { Architecture } from './architecture.js'
import { llama } from './llama.js'
import { NAMES, VISION } from './names.js'
import { readAngles } from './read-angles.js'
import { readDecoder, readWindow } from './read-decoder.js'

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
  read(fields) {
    const window = readWindow(fields)
    const parameters = fields.part('rope_parameters')
    const given = parameters?.get('llama_4_scaling_beta')
    const by = given === undefined || given === 0 ? undefined : parameters!.number('llama_4_scaling_beta')
    const growth = by && { by, every: parameters!.count('original_max_position_embeddings') }
    return readDecoder(fields, {
      window: () => window,
      angles: (headSize) => readAngles(fields, headSize, parameters, 1_000_000),
      layer: () => (growth ? { growth } : {}),
    })
  },
}
