import { editDistance, isRecord } from '../../platform/index.js'
import { type Context, ignoresSiblings, refusal } from '../schema/context.js'
import type { Site } from '../schema/document.js'
import { KINDS } from '../schema/keywords.js'
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
      const why = whyForeign(word, schema[word]) ?? whyMisplaced(word, schema, site) ?? whyNear(word, schema)
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
  noneOf: listOf(schema),
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

/** What a word is like: a keyword that it cannot but mean, if it has such a value, or some that it may mean. */
type Meaning = string | readonly string[]

const meanings = new Map<string, Meaning>()
const REMEMBERED = 2000

function meaningOf(word: string): Meaning {
  if (word.length > LONGEST || isOnPurpose(word)) return []
  if (!meanings.has(word)) {
    if (meanings.size >= REMEMBERED) meanings.clear()
    meanings.set(word, misspelt(word) ?? [...WORDS.keys()].filter((each) => isNear(plain(word), each)))
  }
  return meanings.get(word)!
}

/** Why a word that is no keyword cannot be taken for an annotation with this value; undefined if it can. */
function whyForeign(word: string, value: unknown): string | undefined {
  const foreign = Object.hasOwn(FOREIGN, word) ? FOREIGN[word] : undefined
  if (foreign !== undefined) return foreign(value) ? `'${word}' is not supported.` : undefined
  const meant = meaningOf(word)
  // The name alone says little: `ref` may be the number of an invoice.
  return typeof meant === 'string' && WORDS.get(meant)!.shape(value) ? askFor(meant, word) : undefined
}

const askFor = (meant: string, word: string) => `'${word}' is not a keyword; did you mean '${meant}'?`

/**
 * Why a word like a short keyword, or like one in the singular or plural, is no annotation: only that keyword has such a
 * value, is not beside it, and could say something here.
 */
function whyNear(word: string, schema: Readonly<Record<string, unknown>>): string | undefined {
  const near = meaningOf(word)
  const meant = typeof near === 'string' ? undefined : near.find((each) => canMean(each, word, schema))
  return meant === undefined ? undefined : askFor(meant, word)
}

function canMean(meant: string, word: string, schema: Readonly<Record<string, unknown>>): boolean {
  const { keyword, shape } = WORDS.get(meant)!
  const value = schema[word]
  if (Object.hasOwn(schema, meant) || !shape(value) || value === true) return false
  if (keyword.ordinary && !Object.hasOwn(schema, 'if') && plain(word) !== meant) return false
  const types = [schema.type]
    .flat()
    .filter((each) => typeof each === 'string' && Object.hasOwn(KINDS, each)) as string[]
  if (types.length > 0 && types.every((each) => (KINDS[each]! & keyword.kinds) === 0)) return false
  const parts = [value, ...Object.values(isRecord(value) || Array.isArray(value) ? value : {})]
  return !parts.some(isRecord) || (meant !== 'type' && parts.some(isSchema))
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
  !isOnPurpose(word) && !word.startsWith('$') && isSchema(value)

const isSchema = (value: unknown): boolean =>
  isRecord(value) && TELLING.some((each) => Object.hasOwn(value, each) && WORDS.get(each)!.shape(value[each]))

/** A leading `_` or `x-` says that the word is no keyword on purpose. */
const isOnPurpose = (word: string): boolean => word.startsWith('_') || word.startsWith('x-')

function misspelt(word: string): string | undefined {
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

function isNear(letters: string, keyword: string): boolean {
  if (keyword.startsWith('$') && keyword !== '$ref') return false
  const other = plain(keyword)
  if (singular(letters) === singular(other)) return true
  if (other.length > 5 || editDistance(letters, other) > 1) return false
  // `cost` and `href` are other words.
  return (keyword !== 'const' && keyword !== '$ref') || [...letters].sort().join() === [...other].sort().join()
}

const singular = (letters: string) => letters.replace(/ies$/, 'y').replace(/s$/, '')

function plain(word: string): string {
  return word.replace(/[^a-z]/gi, '').toLowerCase()
}
