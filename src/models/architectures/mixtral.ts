import type { Architecture } from './architecture.js'
import { EXPERT_NAMES, ggufExperts, readExperts, switched } from './experts.js'
import { readAttention, readWindow } from './read-decoder.js'

const MIXTURE = 'model.layers.#.block_sparse_moe'

/** Mistral with experts in place of its MLP. GGUF files call both a Llama. */
export const mixtral: Architecture = {
  names: {
    huggingface: {
      ...EXPERT_NAMES.huggingface,
      router: `${MIXTURE}.gate`,
      expertsIn: ['w1', 'w3'].map((each) => `${MIXTURE}.experts.*.${each}`),
      expertsOut: `${MIXTURE}.experts.*.w2`,
    },
    gguf: EXPERT_NAMES.gguf,
  },
  others: { huggingface: [switched(MIXTURE)] },
  gguf: { interleaved: true, own: ggufExperts },
  layer: (fields) => ({
    mixer: readAttention(fields, { window: readWindow(fields) }),
    // The shares of the chosen add up to one.
    feedForward: readExperts(fields, { scores: 'softmax', normed: true, size: fields.count('intermediate_size') }),
    arrangement: 'before',
  }),
}
