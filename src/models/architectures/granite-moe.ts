import type { Architecture } from './architecture.js'
import { EXPERT_NAMES, ggufExperts, readExperts } from './experts.js'
import { granite, ownOfGranite, readGranite } from './granite.js'

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
  read(fields) {
    const size = fields.count('moe_intermediate_size', fields.count('intermediate_size'))
    // That of all is the same, once it is divided by its sum.
    const experts = readExperts(fields, { scores: 'softmax', normed: true }, size)
    return readGranite(fields, () => experts)
  },
}
