import type { Architecture } from './architecture.js'
import type { Fields } from './fields.js'
import { llama } from './llama.js'
import { QWEN_NAMES } from './names.js'
import { readDecoder, readLayerTypes, readWindow } from './read-decoder.js'

/** Qwen 2 and 2.5: biases of queries, keys and values, and a window that few of them use. */
export const qwen2: Architecture = {
  ...llama,
  names: QWEN_NAMES,
  gguf: {},
  read: (fields) => readDecoder(fields, { biased: ['qkv'], window: readQwenWindow(fields) }),
}

/** The layers from `max_window_layers` on have the window, unless a list of kinds says which. */
export function readQwenWindow(fields: Fields): (layer: number) => number | undefined {
  const size = readWindow(fields)
  const from = Number(fields.get('max_window_layers') ?? 0)
  const slides = readLayerTypes(fields, fields.count('num_hidden_layers')) ?? ((layer) => layer >= from)
  const wanted = fields.flag('use_sliding_window')
  return (layer) => (wanted && slides(layer) ? size : undefined)
}
