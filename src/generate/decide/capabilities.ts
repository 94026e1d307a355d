import type { Capabilities } from '../../contract/index.js'

/** Of a model that says no words. */
export const NO_CHAT = {
  chat: false,
  logprobs: false,
  seed: false,
  tools: false,
  grammar: false,
  images: false,
  audio: false,
} as const

/** Capabilities of a model that answers typed questions and nothing else. */
export const DECIDES: Capabilities = { ...NO_CHAT, embeddings: false, rerank: false, decisions: true, thinking: false }
