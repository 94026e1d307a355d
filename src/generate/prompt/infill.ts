import type { Tokenizer } from '../tokenizer/tokenizer.js'

/** How a model that fills gaps is told what stands before and behind one. */
type Infill = (prefix: string, suffix: string) => string

const psm = (pre: string, suf: string, mid: string): readonly [readonly string[], Infill] => [
  [pre, suf, mid],
  (prefix, suffix) => pre + prefix + suf + suffix + mid,
]

const FAMILIES: readonly (readonly [readonly string[], Infill])[] = [
  // Qwen Coder, CodeGemma, Granite 4.
  psm('<|fim_prefix|>', '<|fim_suffix|>', '<|fim_middle|>'),
  // StarCoder, SantaCoder, Granite Code.
  psm('<fim_prefix>', '<fim_suffix>', '<fim_middle>'),
  psm('<fim-prefix>', '<fim-suffix>', '<fim-middle>'),
  // DeepSeek Coder.
  psm('<｜fim▁begin｜>', '<｜fim▁hole｜>', '<｜fim▁end｜>'),
  // Code Llama.
  psm('▁<PRE>', '▁<SUF>', '▁<MID>'),
  // Codestral: what stands behind comes first.
  [['[SUFFIX]', '[PREFIX]'], (prefix, suffix) => `[SUFFIX]${suffix}[PREFIX]${prefix}`],
]

/** Undefined where the tokenizer has no tokens for it: nobody taught the model. */
export function infillOf(tokenizer: Tokenizer): Infill | undefined {
  const known = new Set(tokenizer.addedTexts(false))
  return FAMILIES.find(([tokens]) => tokens.every((token) => known.has(token)))?.[1]
}
