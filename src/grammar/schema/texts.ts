import type { TextAutomaton } from '../automata/types.js'
import { TextError } from '../automata/types.js'
import { formatAutomaton, whyNotFormat } from '../formats/formats.js'
import { compileRegex } from '../regex/regex.js'
import { SchemaError } from '../schema-error.js'
import { type Context, refusal } from './context.js'
import type { Site } from './document.js'

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
  const automaton = placed(context, site, keyword, () => compileRegex(source, fuel))
  context.fuel.spend(Math.min(fuel.spent, MOST_STEPS))
  if (automaton !== undefined) context.patterns.set(source, automaton)
  return automaton
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
