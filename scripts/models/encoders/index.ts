import { bge, minilm } from './bert.js'
import type { EncoderCase } from './encoder-case.js'

export const ENCODERS: readonly EncoderCase[] = [minilm, bge]
