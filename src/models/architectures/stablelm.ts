import type { Architecture } from './architecture.js'
import { llama } from './llama.js'
import { NAMES } from './names.js'
import { readAnglesOfPart } from './read-angles.js'
import { GGUF_LAYER_NORMS, readLayerNormed } from './read-decoder.js'

/** StableLM 3B and StableLM 2 1.6B: Llama with layer norms, of whose heads a quarter turns. */
export const stablelm: Architecture = {
  ...llama,
  names: NAMES,
  gguf: GGUF_LAYER_NORMS,
  read(fields) {
    for (const flag of ['qk_layernorm', 'use_parallel_residual']) if (fields.flag(flag)) throw fields.odd(flag, true)
    return readLayerNormed(fields, {
      biased: fields.flag('use_qkv_bias') ? ['qkv'] : [],
      angles: readAnglesOfPart(fields, 0.25),
    })
  },
}
