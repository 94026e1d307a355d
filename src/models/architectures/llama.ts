import type { Architecture } from './architecture.js'
import { EXPERT_NAMES } from './experts.js'
import type { Fields } from './fields.js'
import { mixtral } from './mixtral.js'
import { NAMES } from './names.js'
import { readAttention, readGated } from './read-decoder.js'

/** llama.cpp's converter calls Mixtral so, too. */
const inWordsOfMixtral = (fields: Fields, num_experts: number) =>
  fields.replaced({ num_experts, num_experts_per_tok: fields.limit('expert_used_count') })

/** Llama 2 and 3, and the many that are built like them. */
export const llama: Architecture = {
  names: { ...NAMES, gguf: EXPERT_NAMES.gguf },
  gguf: { interleaved: true },
  // Tables of angles, which old exports carry along.
  idle: /\.rotary_emb\.inv_freq$/,
  layer(fields) {
    const experts = fields.limit('expert_count')
    if (experts !== undefined) return mixtral.layer(inWordsOfMixtral(fields, experts))
    return {
      mixer: readAttention(fields),
      feedForward: readGated(fields),
      arrangement: 'before',
    }
  },
}
