import type { QuoteSource } from '../contract/index.js'
import { Fuel } from './fuel.js'
import { Context, type Formats } from './schema/context.js'
import { Document } from './schema/document.js'
import { satisfies } from './schema/evaluate.js'
import { Quotes } from './schema/quotes.js'
import { SchemaError } from './schema-error.js'
import { COMPACT } from './values/format.js'

/** Far more than any document takes that a model writes. */
const STEPS = 2_000_000

/**
 * Whether a value satisfies a schema that has been compiled strictly: in any order of its keys, of which the grammar
 * admits one alone. Undefined for one that is too deep or too costly to be looked at.
 */
export function judge(schema: unknown, value: unknown, formats?: Formats, quote?: QuoteSource): boolean | undefined {
  try {
    const quotes = quote && new Quotes(quote)
    const context = new Context(new Document(schema), new Fuel(STEPS), COMPACT, undefined, formats, quotes)
    if (!satisfies(context, context.atom(context.document.root), value)) return false
    return !quotes?.all || isQuoted(value, quotes, spelledOut(schema), context.fuel)
  } catch (error) {
    if (error instanceof SchemaError || error instanceof RangeError) return undefined
    throw error
  }
}

/** Whether all strings are quotes, or spelled out somewhere in the schema: where each may stand has been looked at. */
function isQuoted(value: unknown, quotes: Quotes, spelled: ReadonlySet<string>, fuel: Fuel): boolean {
  return stringsIn([value]).every((text) => spelled.has(text) || quotes.has(text, fuel))
}

function spelledOut(schema: unknown): ReadonlySet<string> {
  const listed: unknown[] = []
  const open = [schema]
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (typeof at !== 'object' || at === null) continue
    const { enum: values, const: value, ...rest } = at as Record<string, unknown>
    listed.push(values, value)
    open.push(...Object.values(rest))
  }
  return new Set(stringsIn(listed))
}

/** Names of properties are none. */
function stringsIn(values: readonly unknown[]): string[] {
  const found: string[] = []
  const open = [...values]
  while (open.length > 0) {
    const at = open.pop()
    if (typeof at === 'string') found.push(at)
    else if (typeof at === 'object' && at !== null) open.push(...Object.values(at))
  }
  return found
}
