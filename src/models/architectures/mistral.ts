import type { Architecture } from './architecture.js'
import { llama } from './llama.js'
import { readAttention, readGated, readWindow } from './read-decoder.js'

/** Llama with a window over all layers, where there is one. */
export const mistral: Architecture = {
  ...llama,
  // MLC's way to keep the first tokens in sight is its own, not the model's.
  unused: ['attention_sink_size'],
  layer: (fields) => ({
    mixer: readAttention(fields, { window: readWindow(fields) }),
    feedForward: readGated(fields),
    arrangement: 'before',
  }),
}
