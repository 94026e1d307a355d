import type { Case } from '../family.js'
import { cohere2 } from './cohere.js'
import { graniteMoe, lfm2Moe, mixtral, olmoe, qwen2Moe, qwen3Moe, qwen35Moe } from './experts.js'
import { gemma2, gemma3 } from './gemma.js'
import { gemma1 } from './gemma1.js'
import { gemma4 } from './gemma4.js'
import { gemma4Moe } from './gemma4-moe.js'
import { gptOss } from './gpt-oss.js'
import { phi, stablelm, starcoder2 } from './layer-norms.js'
import { lfm2 } from './lfm2.js'
import { llama } from './llama.js'
import { ministral3 } from './mistral3.js'
import { phi3, phi4Mini } from './phi3.js'
import { mistral, qwen2, qwen3 } from './qwen.js'
import { qwen35 } from './qwen3-5.js'
import { apertus, arcee, exaone4, granite, granite4, olmo2, smollm3 } from './variants.js'

export const CASES: readonly Case[] = [
  llama,
  mistral,
  qwen2,
  qwen3,
  qwen35,
  qwen2Moe,
  qwen3Moe,
  qwen35Moe,
  lfm2Moe,
  olmoe,
  graniteMoe,
  mixtral,
  gptOss,
  gemma3,
  gemma2,
  gemma1,
  gemma4,
  gemma4Moe,
  lfm2,
  phi3,
  phi4Mini,
  ministral3,
  smollm3,
  granite,
  granite4,
  olmo2,
  exaone4,
  arcee,
  cohere2,
  stablelm,
  starcoder2,
  phi,
  apertus,
]
