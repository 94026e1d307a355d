import { ARRAYS } from './arrays.js'
import { CHOOSING, COMBINING } from './combining.js'
import type { Keyword } from './keyword.js'
import { NUMBERS } from './numbers.js'
import { OBJECTS } from './objects.js'
import { QUOTES } from './quotes.js'
import { REFERENCES } from './references.js'
import type { Shape } from './shapes.js'
import { STRINGS } from './strings.js'
import { VALUES } from './values.js'

/** Every keyword that restricts values, in the order in which they are asserted, denied and judged. */
export const KEYWORDS: readonly Keyword[] = [
  ...VALUES,
  ...NUMBERS,
  ...STRINGS,
  ...QUOTES,
  ...ARRAYS,
  ...OBJECTS,
  ...COMBINING,
  ...REFERENCES,
  ...CHOOSING,
]

interface Word {
  readonly keyword: Keyword
  readonly shape: Shape
}

/** By each of its words. */
export const WORDS: ReadonlyMap<string, Word> = new Map(
  KEYWORDS.flatMap((keyword) =>
    Object.entries({ [keyword.name]: keyword.shape, ...keyword.with }).map(
      ([word, shape]) => [word, { keyword, shape }] as const,
    ),
  ),
)
