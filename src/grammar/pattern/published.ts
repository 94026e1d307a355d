/**
 * How published models cut a text into words: patterns, one after the other, each on what the one before has left. These
 * the platform's own RegExp may run, which is quicker than the machine: none of them takes it long, whatever the text.
 */

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
const cased = (ending: string, number: string) => {
  const [upper, lower] = ['(?:(?=\\p{L})[^a-z])', '(?:(?=\\p{L})[^A-Z])']
  const words = [`${upper}*${lower}+${ending}`, `${upper}+${lower}*${ending}`].map(
    (word) => `[^\\r\\n\\p{L}\\p{N}]?${word}`,
  )
  return either(...words, number, ' ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*', SPACES)
}
const GPT4O = cased(`${ENDING}?`, '\\p{N}{1,3}')
const DEEPSEEK3 = either(
  '[!"#$%&\'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+',
  '[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+',
  ' ?[\\p{P}\\p{S}]+[\\r\\n]*',
  SPACES,
)
const COMMAS = ' ?[^(\\s|.,!?…。，、।۔،)]+'

/** As llama.cpp has them, by the model that was first. */
export const PUBLISHED = {
  DEFAULT: ['[\\p{P}\\$\\+<=>\\^~\\|]+', GPT2, '\\p{N}+', '[0-9][0-9][0-9]'],
  GPT2: [GPT2],
  LLAMA3: [LLAMA3],
  QWEN2: [QWEN2],
  QWEN35: [QWEN35],
  STARCODER: ['\\p{N}', GPT2],
  FALCON: ['[\\p{P}\\$\\+<=>\\^~\\|`]+', GPT2, '[0-9][0-9][0-9]'],
  TEKKEN: [cased('', '\\p{N}')],
  GPT4O: [GPT4O],
  DEEPSEEK3: ['\\p{N}{1,3}', '[一-龥぀-ゟ゠-ヿ]+', DEEPSEEK3],
  SEED: [either(ENDING, LETTERS, '\\p{N}', ' ?[^\\s\\p{L}\\p{N}\\r\\n]+', SPACES)],
  BLOOM: [COMMAS],
  VIKING: [COMMAS, '\\p{N}'],
} satisfies Record<string, readonly string[]>

/** As `tokenizer.json` spells them: endings of English words in either case. */
const EITHER_CASE = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
const oneWord = (heads: string, tails: string) =>
  `[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]${heads}[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]${tails}`
const SLASHES = ' ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*'

const KNOWN = new Set([
  ...Object.values(PUBLISHED).flat(),
  either(EITHER_CASE, LETTERS, '\\p{N}{1,3}', SIGNS, SPACES),
  either(EITHER_CASE, LETTERS, '\\p{N}', SIGNS, SPACES),
  either(`${oneWord('*', '+')}${EITHER_CASE}?`, `${oneWord('+', '*')}${EITHER_CASE}?`, '\\p{N}{1,3}', SLASHES, SPACES),
  either(oneWord('*', '+'), oneWord('+', '*'), '\\p{N}', SLASHES, SPACES),
  // Of local-v1/nano, whose first answer would wait longer for the machine than for anything else.
  '\\p{Lu}?[\\p{Ll}\\p{M}]+|\\p{Lu}+(?!\\p{Ll})|\\p{L}|[^\\p{L}]',
])

/** Whether a pattern is one of those, to the letter. */
export function isPublished(pattern: string): boolean {
  return KNOWN.has(pattern)
}
