import { bge, minilm } from './bert.js'
import { embeddingGemma, qwen3Embedding } from './decoders.js'
import type { EncoderCase } from './encoder-case.js'
import { mmBert, modernBert } from './modern-bert.js'

export const ENCODERS: readonly EncoderCase[] = [minilm, bge, modernBert, mmBert, qwen3Embedding, embeddingGemma]
