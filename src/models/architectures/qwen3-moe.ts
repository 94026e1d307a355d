import type { Architecture } from './architecture.js'
import { EXPERT_NAMES, EXPERTS_IN_ONE, ggufExperts, readExperts } from './experts.js'
import type { Fields } from './fields.js'
import { qwen2, readQwenWindow } from './qwen2.js'
import { readAttention, readGated, where } from './read-decoder.js'

/** Every so many layers have experts, but for those that a list names. */
export function sparseIn(fields: Fields): (layer: number) => boolean {
  const step = fields.count('decoder_sparse_step', 1)
  const dense = fields.get('mlp_only_layers') ?? []
  if (!Array.isArray(dense)) throw fields.odd('mlp_only_layers', dense)
  return (layer) => (layer + 1) % step === 0 && !dense.includes(layer)
}

/** Qwen 3 whose layers have experts in place of an MLP. */
export const qwen3Moe: Architecture = {
  ...qwen2,
  names: { huggingface: EXPERT_NAMES.huggingface, gguf: EXPERT_NAMES.gguf },
  others: { huggingface: EXPERTS_IN_ONE },
  gguf: { own: (take) => ({ ...ggufExperts(take), norm_topk_prob: true }) },
  layer: (fields) => ({
    mixer: readAttention(fields, { queryKeyNorm: 'head', ...readQwenWindow(fields) }),
    feedForward: where(
      sparseIn(fields),
      readExperts(fields, { scores: 'softmax', normed: fields.flag('norm_topk_prob') }),
      readGated(fields),
    ),
    arrangement: 'before',
  }),
}
