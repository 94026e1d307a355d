import type { Architecture } from './architecture.js'
import { qwen2, readQwenWindow } from './qwen2.js'
import { readDecoder } from './read-decoder.js'

/** Heads of queries and keys are normed. */
export const qwen3: Architecture = {
  ...qwen2,
  read: (fields) => readDecoder(fields, { queryKeyNorm: 'head', window: readQwenWindow(fields) }),
}
