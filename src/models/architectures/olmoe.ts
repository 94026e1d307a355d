import type { Architecture } from './architecture.js'
import { EXPERT_NAMES, EXPERTS_IN_ONE, ggufExperts, readExperts, sizeAsMlp } from './experts.js'
import { llama } from './llama.js'
import { readAttention } from './read-decoder.js'

/** Norms of whole rows of queries and keys, and small experts, whose shares count as they are. */
export const olmoe: Architecture = {
  ...llama,
  names: { huggingface: EXPERT_NAMES.huggingface, gguf: EXPERT_NAMES.gguf },
  others: { huggingface: EXPERTS_IN_ONE },
  gguf: { own: ggufExperts },
  layer: (fields) => ({
    mixer: readAttention(fields, { queryKeyNorm: 'row' }),
    feedForward: readExperts(fields, {
      scores: 'softmax',
      normed: fields.flag('norm_topk_prob'),
      size: sizeAsMlp(fields),
    }),
    arrangement: 'before',
  }),
}
