import type { Architecture } from './architecture.js'
import { EXPERT_NAMES } from './experts.js'
import { readMixtral } from './mixtral.js'
import { NAMES } from './names.js'
import { readDecoder } from './read-decoder.js'

/** Llama 2 and 3, and the many that are built like them. */
export const llama: Architecture = {
  read(fields) {
    // So llama.cpp's converter writes Mixtral.
    const num_experts = fields.limit('expert_count')
    if (num_experts === undefined) return readDecoder(fields)
    return readMixtral(fields.replaced({ num_experts, num_experts_per_tok: fields.limit('expert_used_count') }))
  },
  names: { ...NAMES, gguf: EXPERT_NAMES.gguf },
  gguf: { interleaved: true },
  // Tables of angles, which old exports carry along.
  idle: /\.rotary_emb\.inv_freq$/,
}
