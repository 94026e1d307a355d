import type { Architecture } from './architecture.js'
import { llama } from './llama.js'
import { readDecoder, readWindow } from './read-decoder.js'

/** Llama with a window over all layers, where there is one. */
export const mistral: Architecture = {
  ...llama,
  read(fields) {
    const window = readWindow(fields)
    // MLC's way to keep the first tokens in sight is its own, not the model's.
    fields.get('attention_sink_size')
    return readDecoder(fields, { window: () => window })
  },
}
