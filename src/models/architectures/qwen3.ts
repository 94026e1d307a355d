import type { Architecture } from './architecture.js'
import { qwen2, readQwenWindow } from './qwen2.js'
import { readAttention, readGated } from './read-decoder.js'

/** Heads of queries and keys are normed. */
export const qwen3: Architecture = {
  ...qwen2,
  layer: (fields) => ({
    mixer: readAttention(fields, { queryKeyNorm: 'head', ...readQwenWindow(fields) }),
    feedForward: readGated(fields),
    arrangement: 'before',
  }),
}
