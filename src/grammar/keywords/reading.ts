import { isRecord } from '../../platform/index.js'
import { type Context, ignoresSiblings, refusal } from '../schema/context.js'
import type { Site } from '../schema/document.js'
import { editDistance } from '../spelling.js'
import { ANNOTATIONS } from './annotations.js'
import type { Keyword, Keyworded, Reading } from './keyword.js'
import { bound, either, listOf, mapOf, names, number, type Shape, schema, text, truth, type } from './shapes.js'
import { KEYWORDS, WORDS } from './table.js'

const ORDER = new Map(KEYWORDS.map((keyword, i) => [keyword, i]))
const REFERENCE = WORDS.get('$ref')!.keyword

/** What a schema says, keyword by keyword, each read once. Words that nobody knows are refused or let pass here. */
export function readingsOf(context: Context, site: Site, schema: Keyworded): readonly Reading[] {
  let readings = context.readings.get(site) as readonly Reading[] | undefined
  if (readings === undefined) {
    readings = read(context, site, schema)
    context.readings.set(site, readings)
  }
  return readings
}

function read(context: Context, site: Site, schema: Keyworded): readonly Reading[] {
  const alone = typeof schema.$ref === 'string' && ignoresSiblings(site)
  const found = alone ? [REFERENCE] : keywordsOf(context, site, schema)
  const readings: Reading[] = []
  for (const keyword of found) {
    const claim = keyword.read({ context, site, schema })
    if (claim !== undefined) readings.push({ keyword, claim })
  }
  return readings
}

function keywordsOf(context: Context, site: Site, schema: Keyworded): Keyword[] {
  const found = new Set<Keyword>()
  for (const word of Object.keys(schema)) {
    const keyword = WORDS.get(word)?.keyword
    if (keyword !== undefined) {
      if (site.resource.draft >= (keyword.since ?? 0)) found.add(keyword)
    } else if (!ANNOTATIONS.has(word)) {
      const why = whyForeign(word, schema[word]) ?? whyMisplaced(word, schema, site)
      if (why !== undefined) context.refuse(refusal(site, word, why))
    }
  }
  return [...found].sort((a, b) => ORDER.get(a)! - ORDER.get(b)!)
}

/**
 * Words that no JSON Schema draft enforces here but that were surely meant to restrict. All other unknown words are
 * annotations, as the specification says: editors, form builders and code generators put hundreds of their own into
 * real schemas (`propertyOrder`, `javaType`, `stability`, ...), so that no list of them could be complete. OpenAPI's
 * `discriminator` is among the annotations: without it a schema admits the same. These are of draft 3 and of ajv's
 * extensions.
 */
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
function whyForeign(word: string, value: unknown): string | undefined {
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

/** What a schema may say without a word about any property, and the last where it is no schema itself. */
const BARE = new Set(['type', 'required', 'additionalProperties'])
/** Of these a value is known to be a schema. */
const TELLING = ['type', '$ref', 'enum', 'properties', 'anyOf', 'oneOf', 'allOf']

/**
 * Why a word is no annotation where nothing beside it says what an object has: who leaves out `properties` would be
 * answered with anything. Below the whole schema editors put more of their own: there its type must be said, and no other
 * word be theirs.
 */
function whyMisplaced(word: string, schema: Readonly<Record<string, unknown>>, { trail }: Site): string | undefined {
  if (!isMisplaced(word, schema[word])) return undefined
  if (schema.type !== 'object' && (trail || schema.type !== undefined)) return undefined
  for (const [each, value] of Object.entries(schema)) {
    const isKnown = WORDS.has(each)
    if (isKnown && (!BARE.has(each) || isRecord(value))) return undefined
    if (!isKnown && trail && !ANNOTATIONS.has(each) && !isMisplaced(each, value)) return undefined
  }
  return `'${word}' is not a keyword, but its value is a schema: properties belong under 'properties'.`
}

const isMisplaced = (word: string, value: unknown): boolean =>
  !isOnPurpose(word) &&
  !word.startsWith('$') &&
  isRecord(value) &&
  TELLING.some((each) => Object.hasOwn(value, each) && WORDS.get(each)!.shape(value[each]))

/** A leading `_` or `x-` says that the word is no keyword on purpose. */
const isOnPurpose = (word: string): boolean => word.startsWith('_') || word.startsWith('x-')

function misspelt(word: string): string | undefined {
  if (isOnPurpose(word)) return undefined
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
