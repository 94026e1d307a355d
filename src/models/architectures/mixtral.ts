import type { Architecture } from './architecture.js'
import { EXPERT_NAMES, ggufExperts, readExperts } from './experts.js'
import type { Fields } from './fields.js'
import { readDecoder, readWindow } from './read-decoder.js'

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
  others: {
    // As mlx-lm has them.
    huggingface: [
      {
        expertsIn: ['gate', 'up'].map((each) => `${MIXTURE}.switch_mlp.${each}_proj`),
        expertsOut: `${MIXTURE}.switch_mlp.down_proj`,
      },
    ],
  },
  gguf: { interleaved: true, own: ggufExperts },
  read: readMixtral,
}

/** The shares of the chosen add up to one. */
export function readMixtral(fields: Fields) {
  const window = readWindow(fields)
  const experts = readExperts(fields, { scores: 'softmax', normed: true }, fields.count('intermediate_size'))
  return readDecoder(fields, { window: () => window, feedForward: () => experts })
}
