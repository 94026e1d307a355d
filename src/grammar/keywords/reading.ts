import { type Context, ignoresSiblings, refusal } from '../schema/context.js'
import type { Site } from '../schema/document.js'
import { ANNOTATIONS } from './annotations.js'
import { whyForeign } from './foreign.js'
import type { Keyword, Keyworded, Reading } from './keyword.js'
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
      const why = whyForeign(word, schema[word])
      if (why !== undefined) context.refuse(refusal(site, word, why))
    }
  }
  return [...found].sort((a, b) => ORDER.get(a)! - ORDER.get(b)!)
}
