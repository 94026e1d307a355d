import type { Architecture } from './architecture.js'
import type { Fields } from './fields.js'
import { llama } from './llama.js'
import { QWEN_NAMES } from './names.js'
import { type AttentionOptions, readAttention, readGated, readLayerTypes, readWindow } from './read-decoder.js'

/** The layers from `max_window_layers` on have the window, unless a list of kinds says which; few use it. */
export function readQwenWindow(fields: Fields): AttentionOptions {
  const window = readWindow(fields)
  const from = Number(fields.get('max_window_layers') ?? 0)
  const slides = readLayerTypes(fields) ?? ((layer) => layer >= from)
  return fields.flag('use_sliding_window') ? { window, slides } : {}
}

/** Qwen 2 and 2.5: biases of queries, keys and values, and a window that few of them use. */
export const qwen2: Architecture = {
  ...llama,
  names: QWEN_NAMES,
  gguf: {},
  layer: (fields) => ({
    mixer: readAttention(fields, readQwenWindow(fields)),
    feedForward: readGated(fields),
    arrangement: 'before',
    biased: ['qkv'],
  }),
}
