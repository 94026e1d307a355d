/**
 * How a text is cut into words before they are merged, by `tokenizer.ggml.pre`: patterns, one after the other, each on
 * what the one before has left. They are llama.cpp's, which are those of each model's own tokenizer, or come near them.
 * `npm run check:tokenizers` holds each of them to llama.cpp.
 */

import { PUBLISHED } from '../../../../grammar/index.js'

export interface Words {
  readonly patterns: readonly string[]
  /** Words that are tokens are taken whole. */
  readonly whole?: boolean
}

export const PRE_TOKENIZERS: readonly [names: string, words: Words][] = [
  ['default', { patterns: PUBLISHED.DEFAULT }],
  [
    'llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano',
    { patterns: PUBLISHED.LLAMA3, whole: true },
  ],
  ['dbrx smaug-bpe glm4 chatglm-bpe', { patterns: PUBLISHED.LLAMA3 }],
  [
    'qwen2 deepseek-r1-qwen kormo f2llmv2 megrez stablelm2 hunyuan grok-2 solar-open bailingmoe bailingmoe2 llada-moe',
    { patterns: PUBLISHED.QWEN2 },
  ],
  ['qwen35', { patterns: PUBLISHED.QWEN35 }],
  [
    'gpt-2 phi-2 mpt olmo jais trillion granite-docling exaone4 gigachat a.x-4.0 mellum modern-bert',
    { patterns: PUBLISHED.GPT2 },
  ],
  ['jina-es jina-de jina-v2-es jina-v2-de jina-v1-en jina-v2-code roberta-bpe', { patterns: PUBLISHED.GPT2 }],
  ['smollm starcoder refact command-r codeshell exaone minerva-7b', { patterns: PUBLISHED.STARCODER }],
  ['falcon', { patterns: PUBLISHED.FALCON }],
  ['tekken', { patterns: PUBLISHED.TEKKEN, whole: true }],
  ['gpt-4o llama4 kanana2 minimax-m2', { patterns: PUBLISHED.GPT4O }],
  ['deepseek-v3 hunyuan-dense joyai-llm', { patterns: PUBLISHED.DEEPSEEK3 }],
  ['seed-coder', { patterns: PUBLISHED.SEED }],
  ['poro-chat bloom gpt3-finnish', { patterns: PUBLISHED.BLOOM }],
  ['viking', { patterns: PUBLISHED.VIKING }],
]

export const PRE_TOKENIZER_BY_NAME: ReadonlyMap<string, Words> = new Map(
  PRE_TOKENIZERS.flatMap(([names, words]) => names.split(' ').map((name): [string, Words] => [name, words])),
)
