import type { Architecture } from './architecture.js'
import { llama } from './llama.js'
import { NAMES } from './names.js'
import { readAngles } from './read-angles.js'
import { readDecoder } from './read-decoder.js'

/** Llama with some layers that do not turn queries and keys. */
export const smollm3: Architecture = {
  ...llama,
  names: { huggingface: NAMES.huggingface, gguf: NAMES.gguf },
  read(fields) {
    const layers = fields.count('num_hidden_layers')
    const interval = fields.count('no_rope_layer_interval', 4)
    // 1 says that there are positions, whatever the name of the list.
    const list = fields.list('no_rope_layers', layers)
    const turns = (layer: number) => (list ? list[layer] === 1 : (layer + 1) % interval !== 0)
    if (fields.flag('use_sliding_window')) throw fields.odd('use_sliding_window', true)
    fields.get('sliding_window')
    fields.get('layer_types')
    return readDecoder(fields, {
      angles: (headSize) => readAngles(fields, headSize),
      layer: (layer, { angles }) => (turns(layer) ? {} : { angles: { ...angles, size: 0 } }),
    })
  },
}
