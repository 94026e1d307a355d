import type { Architecture } from './architecture.js'
import { EXPERT_NAMES, ggufExperts, readExperts, sizeAsMlp } from './experts.js'
import { granite, ownOfGranite, readGraniteTraits } from './granite.js'
import { readAttention } from './read-decoder.js'

const MIXTURE = 'model.layers.#.block_sparse_moe'

/** Granite 3 with experts: softmax is taken of those that were chosen. */
export const graniteMoe: Architecture = {
  ...granite,
  names: {
    huggingface: {
      ...EXPERT_NAMES.huggingface,
      router: `${MIXTURE}.router.layer`,
      expertsIn: `${MIXTURE}.input_linear`,
      expertsOut: `${MIXTURE}.output_linear`,
    },
    gguf: EXPERT_NAMES.gguf,
  },
  gguf: { interleaved: true, own: (take) => ({ ...ownOfGranite(take), ...ggufExperts(take) }) },
  layer: (fields) => ({
    mixer: readAttention(fields, readGraniteTraits(fields)),
    // That of all is the same, once it is divided by its sum.
    feedForward: readExperts(fields, { scores: 'softmax', normed: true, size: sizeAsMlp(fields) }),
    arrangement: 'before',
  }),
}
