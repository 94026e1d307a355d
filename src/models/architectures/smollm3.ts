import type { Architecture } from './architecture.js'
import type { Fields } from './fields.js'
import { llama } from './llama.js'
import { NAMES } from './names.js'
import { readAttention, readGated, where } from './read-decoder.js'

function hasRope(fields: Fields): (layer: number) => boolean {
  const interval = fields.count('no_rope_layer_interval', 4)
  // 1 says that there are positions, whatever the name of the list.
  const list = fields.list('no_rope_layers', fields.count('num_hidden_layers'))
  return (layer) => (list ? list[layer] === 1 : (layer + 1) % interval !== 0)
}

/** Llama with some layers that do not turn queries and keys. */
export const smollm3: Architecture = {
  ...llama,
  names: { huggingface: NAMES.huggingface, gguf: NAMES.gguf },
  only: { use_sliding_window: false },
  unused: ['sliding_window', 'layer_types'],
  layer: (fields) => ({
    mixer: where(hasRope(fields), readAttention(fields), readAttention(fields, { rope: false })),
    feedForward: readGated(fields),
    arrangement: 'before',
  }),
}
