import type { Architecture } from './architecture.js'
import { EXPERT_NAMES, EXPERTS_IN_ONE, ggufExperts, readExperts, readShared, SHARED_NAMES } from './experts.js'
import { attends35, ownOfQwen35, QWEN35_GGUF, QWEN35_NAMES, qwen35, readDelta, readGatedAttention } from './qwen3-5.js'
import { ATTENTION_BIAS, where } from './read-decoder.js'

const { expertsIn, expertsOut } = EXPERT_NAMES.huggingface
const { expertsIn: ggufIn, expertsOut: ggufOut } = EXPERT_NAMES.gguf

/** Qwen3.5 with experts in every layer, and in its head that guesses, beside which all rows go through one that is shared. */
export const qwen35Moe: Architecture = {
  ...qwen35,
  names: {
    huggingface: { ...QWEN35_NAMES, expertsIn, expertsOut, ...SHARED_NAMES.huggingface },
    gguf: { ...QWEN35_GGUF, expertsIn: ggufIn, expertsOut: ggufOut, ...SHARED_NAMES.gguf },
  },
  others: { huggingface: EXPERTS_IN_ONE },
  gguf: { partial: true, own: (take, config) => ({ ...ownOfQwen35(take, config), ...ggufExperts(take) }) },
  // The shares are divided by their sum whatever it says.
  unused: ['norm_topk_prob'],
  layer: (fields) => ({
    mixer: where(attends35(fields), readGatedAttention(fields), readDelta(fields)),
    feedForward: readExperts(fields, { scores: 'softmax', normed: true, shared: readShared(fields) }),
    arrangement: 'before',
    biased: fields.flag('attention_bias') ? ATTENTION_BIAS : [],
  }),
}
