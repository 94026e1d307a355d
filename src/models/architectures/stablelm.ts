import type { Architecture } from './architecture.js'
import { llama } from './llama.js'
import { NAMES } from './names.js'
import { readAnglesOfPart } from './read-angles.js'
import { GGUF_LAYER_NORMS, LAYER_NORMED, readAttention, readGated } from './read-decoder.js'

/** StableLM 3B and StableLM 2 1.6B: Llama with layer norms, of whose heads a quarter turns. */
export const stablelm: Architecture = {
  ...llama,
  names: NAMES,
  gguf: GGUF_LAYER_NORMS,
  ...LAYER_NORMED,
  only: { qk_layernorm: false, use_parallel_residual: false },
  layer: (fields) => ({
    mixer: readAttention(fields, { angles: readAnglesOfPart(fields, 0.25) }),
    feedForward: readGated(fields),
    arrangement: 'before',
    biased: fields.flag('use_qkv_bias') ? ['qkv'] : [],
  }),
}
