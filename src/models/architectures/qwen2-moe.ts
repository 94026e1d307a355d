import type { Architecture } from './architecture.js'
import { EXPERT_NAMES, EXPERTS_IN_ONE, ggufExperts, readExperts, readShared, SHARED_NAMES } from './experts.js'
import { qwen2, readQwenWindow } from './qwen2.js'
import { sparseIn } from './qwen3-moe.js'
import { readAttention, readGated, where } from './read-decoder.js'

/** Qwen 1.5 and 2 with experts, beside which all rows go through one that is shared. */
export const qwen2Moe: Architecture = {
  ...qwen2,
  names: {
    huggingface: { ...EXPERT_NAMES.huggingface, ...SHARED_NAMES.huggingface },
    gguf: { ...EXPERT_NAMES.gguf, ...SHARED_NAMES.gguf },
  },
  others: { huggingface: EXPERTS_IN_ONE },
  gguf: { own: ggufExperts },
  layer: (fields) => ({
    mixer: readAttention(fields, readQwenWindow(fields)),
    feedForward: where(
      sparseIn(fields),
      readExperts(fields, { scores: 'softmax', normed: fields.flag('norm_topk_prob'), shared: readShared(fields) }),
      readGated(fields),
    ),
    arrangement: 'before',
    biased: ['qkv'],
  }),
}
