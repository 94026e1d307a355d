import { isRecord, type Slices } from '../../platform/index.js'
import type { TextAutomaton } from '../automata/types.js'
import { TextError } from '../automata/types.js'
import { formatAutomaton, formatAutomatonInSlices, whyNotFormat } from '../formats/formats.js'
import { compileRegex, compileRegexInSlices } from '../regex/regex.js'
import { SchemaError } from '../schema-error.js'
import { type Context, refusal } from './context.js'
import { PLACES_TOGETHER, type Site } from './document.js'

/** The languages of strings, with the lexical part's refusals given a place in the schema. */

/** Of one pattern. */
const MOST_STEPS = 150_000

/** Undefined: noted as not enforced. */
export function patternAutomaton(
  context: Context,
  site: Site,
  keyword: string,
  source: string,
): TextAutomaton | undefined {
  const known = context.patterns.get(source)
  if (known !== undefined) return known
  const fuel = context.fuel.portion(MOST_STEPS)
  const foreseen = context.foreseen.get(source)
  const automaton = placed(context, site, keyword, () => (foreseen ? foreseen.made() : compileRegex(source, fuel)))
  context.fuel.spend(Math.min(foreseen?.cost ?? fuel.spent, MOST_STEPS))
  if (automaton !== undefined) context.patterns.set(source, automaton)
  return automaton
}

/**
 * Compiles what stands for a pattern or a format in a schema before it is asked for, which is where nothing can pause.
 * Patterns are paid for there; once all together take more than there is, the rest is left to be refused there.
 */
export function* compileAhead(context: Context, schema: unknown): Slices<void> {
  let spent = 0
  const { patterns, formats } = yield* wordsIn(schema)
  for (const name of formats) if (context.ownFormat(name) === undefined) yield* formatAutomatonInSlices(name)
  for (const source of patterns) {
    const fuel = context.fuel.portion(MOST_STEPS)
    let made: () => TextAutomaton
    try {
      const automaton = yield* compileRegexInSlices(source, fuel)
      made = () => automaton
    } catch (error) {
      made = () => {
        throw error
      }
    }
    context.foreseen.set(source, { made, cost: fuel.spent })
    spent += fuel.spent
    if (spent > context.fuel.left) return
  }
}

function* wordsIn(schema: unknown): Slices<Readonly<Record<'patterns' | 'formats', ReadonlySet<string>>>> {
  const patterns = new Set<string>()
  const formats = new Set<string>()
  // A schema that JavaScript has put together may hold itself.
  const seen = new Set([schema])
  let looked = 0
  for (const place of seen) {
    if (typeof place !== 'object' || place === null) continue
    const { pattern, patternProperties, format } = place as Readonly<Record<string, unknown>>
    if (typeof pattern === 'string') patterns.add(pattern)
    if (isRecord(patternProperties)) for (const source of Object.keys(patternProperties)) patterns.add(source)
    if (typeof format === 'string') formats.add(format)
    for (const part of Object.values(place)) {
      if (++looked % PLACES_TOGETHER === 0) yield
      if (typeof part === 'object') seen.add(part)
    }
  }
  return { patterns, formats }
}

/** Undefined: the format says nothing of texts, or is noted as not enforced. */
export function formatOf(context: Context, site: Site, name: string): TextAutomaton | undefined {
  return placed(context, site, 'format', () => {
    const why = whyNotFormat(name)
    if (why !== undefined) throw new TextError(why)
    return formatAutomaton(name)
  })
}

export function matches(automaton: TextAutomaton, text: string): boolean {
  let state = automaton.start
  for (const char of text) state = automaton.next(state, char.codePointAt(0)!)
  return automaton.accepts(state)
}

/** Runs a lexical computation; its refusal names the place. */
export function placed<T>(context: Context, site: Site, keyword: string, work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if (error instanceof TextError) context.refuse(refusal(site, keyword, error.message))
    else if (error instanceof SchemaError) context.refuse(new SchemaError(site.path, keyword, error.message))
    else throw error
    return undefined
  }
}
