import { isRecord } from '../../platform/index.js'
import { editDistance } from '../spelling.js'
import { bound, either, listOf, mapOf, names, number, type Shape, schema, text, truth, type } from './shapes.js'
import { WORDS } from './table.js'

/**
 * Words that no JSON Schema draft enforces here but that were surely meant to restrict. All other unknown words are
 * annotations, as the specification says: editors, form builders and code generators put hundreds of their own into
 * real schemas (`propertyOrder`, `javaType`, `stability`, ...), so that no list of them could be complete. OpenAPI's
 * `discriminator` is among the annotations: without it a schema admits the same.
 */

/** Keywords of draft 3 and of ajv's extensions. */
const FOREIGN: Readonly<Record<string, Shape>> = {
  extends: either(isRecord, listOf(isRecord)),
  disallow: either(type, listOf(type)),
  divisibleBy: number,
  ...all(['formatMinimum', 'formatMaximum', 'formatExclusiveMinimum', 'formatExclusiveMaximum'], either(text, bound)),
  ...all(['instanceof', 'typeof'], either(text, names)),
  regexp: text,
  ...all(['exclusiveRange', 'allRequired'], truth),
  ...all(
    ['uniqueItemProperties', 'anyRequired', 'oneRequired', 'patternRequired', 'prohibited', 'deepRequired'],
    names,
  ),
  deepProperties: mapOf(schema),
  ...all(['$merge', '$patch'], isRecord),
}

function all(words: readonly string[], shape: Shape): Record<string, Shape> {
  return Object.fromEntries(words.map((word) => [word, shape]))
}

/** The words whose misspellings would silently let everything through, by their letters. */
const PLAIN = new Map(
  [...WORDS]
    .filter(([word, { keyword }]) => !keyword.ordinary && !word.startsWith('$'))
    .map(([word]) => [plain(word), word]),
)
PLAIN.set(plain('$ref'), '$ref')
const LONGEST = 24

const meanings = new Map<string, string | undefined>()
const REMEMBERED = 2000

/** Why a word that is no keyword cannot be taken for an annotation with this value; undefined if it can. */
export function whyForeign(word: string, value: unknown): string | undefined {
  const foreign = Object.hasOwn(FOREIGN, word) ? FOREIGN[word] : undefined
  if (foreign !== undefined) return foreign(value) ? `'${word}' is not supported.` : undefined
  if (word.length > LONGEST) return undefined
  if (!meanings.has(word)) {
    if (meanings.size >= REMEMBERED) meanings.clear()
    meanings.set(word, misspelt(word))
  }
  // The name alone says little: `ref` may be the number of an invoice.
  const meant = meanings.get(word)
  return meant !== undefined && WORDS.get(meant)!.shape(value)
    ? `'${word}' is not a keyword; did you mean '${meant}'?`
    : undefined
}

/** A leading `_` or `x-` says that the word is no keyword on purpose. */
function misspelt(word: string): string | undefined {
  if (word.startsWith('_') || word.startsWith('x-')) return undefined
  const letters = plain(word)
  const same = PLAIN.get(letters)
  if (same !== undefined) return same
  for (const [other, keyword] of PLAIN) {
    // Short words have neighbours that mean something else: `cost`, `form`, `content`.
    const most = other.length < 6 ? 0 : other.length < 9 ? 1 : 2
    if (most > 0 && Math.abs(other.length - letters.length) <= most && editDistance(letters, other) <= most)
      return keyword
  }
  return undefined
}

function plain(word: string): string {
  return word.replace(/[^a-z]/gi, '').toLowerCase()
}
