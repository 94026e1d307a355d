import { bge, minilm } from './bert.js'
import { embeddingGemma, qwen3Embedding } from './decoders.js'
import type { EncoderCase } from './encoder-case.js'

export const ENCODERS: readonly EncoderCase[] = [minilm, bge, qwen3Embedding, embeddingGemma]
