import type { Architecture } from './architecture.js'
import { NAMES } from './names.js'
import { readDecoder } from './read-decoder.js'

/** Llama 2 and 3, and the many that are built like them. */
export const llama: Architecture = {
  read: (fields) => readDecoder(fields),
  names: NAMES,
  gguf: { interleaved: true },
  // Tables of angles, which old exports carry along.
  idle: /\.rotary_emb\.inv_freq$/,
}
