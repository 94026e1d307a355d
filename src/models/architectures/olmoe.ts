import type { Architecture } from './architecture.js'
import { EXPERT_NAMES, EXPERTS_IN_ONE, ggufExperts, readExperts } from './experts.js'
import { llama } from './llama.js'
import { readDecoder } from './read-decoder.js'

/** Norms of whole rows of queries and keys, and small experts, whose shares count as they are. */
export const olmoe: Architecture = {
  ...llama,
  names: { huggingface: EXPERT_NAMES.huggingface, gguf: EXPERT_NAMES.gguf },
  others: { huggingface: EXPERTS_IN_ONE },
  gguf: { own: ggufExperts },
  read(fields) {
    const size = fields.count('moe_intermediate_size', fields.count('intermediate_size'))
    const experts = readExperts(fields, { scores: 'softmax', normed: fields.flag('norm_topk_prob') }, size)
    return readDecoder(fields, { queryKeyNorm: 'row', feedForward: () => experts })
  },
}
