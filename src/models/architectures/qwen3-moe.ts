import type { ExpertsPlan, FeedForwardPlan } from '../model-plan.js'
import type { Architecture } from './architecture.js'
import { EXPERT_NAMES, EXPERTS_IN_ONE, ggufExperts, readExperts } from './experts.js'
import type { Fields } from './fields.js'
import { qwen2, readQwenWindow } from './qwen2.js'
import { readDecoder, readGated } from './read-decoder.js'

/** Qwen 3 whose layers have experts in place of an MLP. */
export const qwen3Moe: Architecture = {
  ...qwen2,
  names: { huggingface: EXPERT_NAMES.huggingface, gguf: EXPERT_NAMES.gguf },
  others: { huggingface: EXPERTS_IN_ONE },
  gguf: { own: (take) => ({ ...ggufExperts(take), norm_topk_prob: true }) },
  read(fields) {
    const experts = readExperts(fields, { scores: 'softmax', normed: fields.flag('norm_topk_prob') })
    return readDecoder(fields, {
      queryKeyNorm: 'head',
      window: readQwenWindow(fields),
      feedForward: readSparse(fields, experts),
    })
  },
}

/** Every so many layers have experts, but for those that a list names. */
export function readSparse(fields: Fields, experts: ExpertsPlan): (layer: number) => FeedForwardPlan {
  const step = fields.count('decoder_sparse_step', 1)
  const dense = fields.get('mlp_only_layers') ?? []
  if (!Array.isArray(dense)) throw fields.odd('mlp_only_layers', dense)
  const plain = readGated(fields)
  return (layer) => ((layer + 1) % step === 0 && !dense.includes(layer) ? experts : plain)
}
