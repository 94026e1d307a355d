/**
 * How a text is cut into words before they are merged, by `tokenizer.ggml.pre`: patterns, one after the other, each on
 * what the one before has left. They are llama.cpp's, which are those of each model's own tokenizer, or come near them.
 * `npm run check:tokenizers` holds each of them to llama.cpp.
 */

export interface Words {
  readonly patterns: readonly string[]
  /** Words that are tokens are taken whole. */
  readonly whole?: boolean
}

const ENDING = "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
const LETTERS = '[^\\r\\n\\p{L}\\p{N}]?\\p{L}+'
const SIGNS = ' ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*'
const SPACES = '\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+'
const either = (...patterns: readonly string[]) => patterns.join('|')

const GPT2 = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
const QWEN2 = either(ENDING, LETTERS, '\\p{N}', SIGNS, SPACES)
const LLAMA3 = either(ENDING, LETTERS, '\\p{N}{1,3}', SIGNS, SPACES)
/** Letters and the marks that belong to them. */
const QWEN35 = either(
  ENDING,
  '[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+',
  '\\p{N}',
  ' ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*',
  SPACES,
)
/** A word ends where small letters are followed by a capital. llama.cpp tells them apart in ASCII alone. */
const cased = (letter: string, ending: string, number: string) => {
  const [upper, lower] = [`(?:(?=${letter})[^a-z])`, `(?:(?=${letter})[^A-Z])`]
  const words = [`${upper}*${lower}+${ending}`, `${upper}+${lower}*${ending}`].map(
    (word) => `[^\\r\\n\\p{L}\\p{N}]?${word}`,
  )
  return either(...words, number, ' ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*', SPACES)
}
const GPT4O = cased('\\p{L}', `${ENDING}?`, '\\p{N}{1,3}')
const DEEPSEEK3 = either(
  '[!"#$%&\'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+',
  '[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+',
  ' ?[\\p{P}\\p{S}]+[\\r\\n]*',
  SPACES,
)
const COMMAS = ' ?[^(\\s|.,!?…。，、।۔،)]+'

export const KINDS: readonly [names: string, words: Words][] = [
  ['default', { patterns: ['[\\p{P}\\$\\+<=>\\^~\\|]+', GPT2, '\\p{N}+', '[0-9][0-9][0-9]'] }],
  [
    'llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano',
    { patterns: [LLAMA3], whole: true },
  ],
  ['dbrx smaug-bpe glm4 chatglm-bpe', { patterns: [LLAMA3] }],
  [
    'qwen2 deepseek-r1-qwen kormo f2llmv2 megrez stablelm2 hunyuan grok-2 solar-open bailingmoe bailingmoe2 llada-moe',
    { patterns: [QWEN2] },
  ],
  ['qwen35', { patterns: [QWEN35] }],
  [
    'gpt-2 phi-2 mpt olmo jais trillion granite-docling exaone4 gigachat a.x-4.0 mellum modern-bert',
    { patterns: [GPT2] },
  ],
  ['jina-es jina-de jina-v2-es jina-v2-de jina-v1-en jina-v2-code roberta-bpe', { patterns: [GPT2] }],
  ['smollm starcoder refact command-r codeshell exaone minerva-7b', { patterns: ['\\p{N}', GPT2] }],
  ['falcon', { patterns: ['[\\p{P}\\$\\+<=>\\^~\\|`]+', GPT2, '[0-9][0-9][0-9]'] }],
  ['tekken', { patterns: [cased('\\p{L}', '', '\\p{N}')], whole: true }],
  ['gpt-4o llama4 kanana2 minimax-m2', { patterns: [GPT4O] }],
  ['deepseek-v3 hunyuan-dense joyai-llm', { patterns: ['\\p{N}{1,3}', '[一-龥぀-ゟ゠-ヿ]+', DEEPSEEK3] }],
  ['seed-coder', { patterns: [either(ENDING, LETTERS, '\\p{N}', ' ?[^\\s\\p{L}\\p{N}\\r\\n]+', SPACES)] }],
  ['poro-chat bloom gpt3-finnish', { patterns: [COMMAS] }],
  ['viking', { patterns: [COMMAS, '\\p{N}'] }],
]

export const WORDS: ReadonlyMap<string, Words> = new Map(
  KINDS.flatMap(([names, words]) => names.split(' ').map((name): [string, Words] => [name, words])),
)
