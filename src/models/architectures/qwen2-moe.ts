import type { Architecture } from './architecture.js'
import { EXPERT_NAMES, EXPERTS_IN_ONE, ggufExperts, readExperts, readShared, SHARED_NAMES } from './experts.js'
import { qwen2, readQwenWindow } from './qwen2.js'
import { readSparse } from './qwen3-moe.js'
import { readDecoder } from './read-decoder.js'

/** Qwen 1.5 and 2 with experts, beside which all rows go through one that is shared. */
export const qwen2Moe: Architecture = {
  ...qwen2,
  names: {
    huggingface: { ...EXPERT_NAMES.huggingface, ...SHARED_NAMES.huggingface },
    gguf: { ...EXPERT_NAMES.gguf, ...SHARED_NAMES.gguf },
  },
  others: { huggingface: EXPERTS_IN_ONE },
  gguf: { own: ggufExperts },
  read(fields) {
    const traits = { scores: 'softmax', normed: fields.flag('norm_topk_prob'), shared: readShared(fields) } as const
    return readDecoder(fields, {
      biased: ['qkv'],
      window: readQwenWindow(fields),
      feedForward: readSparse(fields, readExperts(fields, traits)),
    })
  },
}
