import type { QuoteSource } from '../contract/index.js'
import { atOnce, getOrMake, type Slices } from '../platform/index.js'
import { Fuel } from './fuel.js'
import { type Grammar, type SchemaJudge, schemaJudges } from './grammar.js'
import { Context, type Formats } from './schema/context.js'
import { Document } from './schema/document.js'
import { satisfiesInSlices } from './schema/evaluate.js'
import type { Atom } from './schema/part.js'
import { Quotes } from './schema/quotes.js'
import { SchemaError } from './schema-error.js'
import { COMPACT } from './values/format.js'

/** Far more than any document takes that a model writes. */
const STEPS = 2_000_000
/** What is kept of a subschema with its keywords, as real ones take it on average. */
const SITE_BYTES = 800

/**
 * Whether a value satisfies a schema that has been compiled strictly: in any order of its keys, of which the grammar
 * admits one alone. Undefined for one that is too deep or too costly to be looked at.
 */
export function judge(schema: unknown, value: unknown, formats?: Formats, quote?: QuoteSource): boolean | undefined {
  return atOnce(judgeOf(schema, formats, quote).inSlices(value))
}

/** Reads each part of a schema when the first value comes to it. */
function judgeOf(schema: unknown, formats?: Formats, quote?: QuoteSource): SchemaJudge {
  const quotes = quote && new Quotes(quote)
  let read: { readonly context: Context; readonly root: Atom } | undefined
  return {
    get bytes() {
      return SITE_BYTES * (read?.context.document.sites ?? 0)
    },
    *inSlices(value: unknown): Slices<boolean | undefined> {
      const fuel = new Fuel(STEPS)
      try {
        if (read === undefined) {
          const context = new Context(new Document(schema), fuel, COMPACT, undefined, formats, quotes)
          read = { context, root: context.atom(context.document.root) }
        }
        const { context, root } = read
        const good = yield* satisfiesInSlices(context, root, value, fuel)
        if (!good) return false
        return !quotes?.all || isQuoted(value, quotes, spelledOut(schema), fuel)
      } catch (error) {
        // What broke off half-way is read anew.
        read = undefined
        if (error instanceof SchemaError || error instanceof RangeError) return undefined
        throw error
      }
    },
  }
}

/** Whether all strings are quotes, or spelled out somewhere in the schema: where each may stand has been looked at. */
function isQuoted(value: unknown, quotes: Quotes, spelled: ReadonlySet<string>, fuel: Fuel): boolean {
  return stringsIn([value]).every((text) => spelled.has(text) || quotes.has(text, fuel))
}

function spelledOut(schema: unknown): ReadonlySet<string> {
  const listed: unknown[] = []
  const open = [schema]
  while (open.length > 0) {
    const at = open.pop()
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

/** Looks at a generated document before it is called finished. */
export interface DocumentCheck {
  /** Whether the document must satisfy the schema even when the engine ran out of tokens. */
  readonly strict: boolean
  /** What is wrong with the document; undefined for one that is right. With a pause after so much work. */
  faultInSlices(text: string): Slices<string | undefined>
}

/**
 * The second judge beside the grammar: whoever generated the text, a document that does not satisfy its schema is not
 * sent. It looks at the parsed value alone and knows nothing of states, masks and tokens. What the two share is the
 * reading of keywords and the automata of patterns and formats; numbers it compares as decimals.
 *
 * It is not a validator from elsewhere, because none is exact enough to overrule the grammar: ajv divides doubles for
 * `multipleOf`, finds properties in prototypes, reads draft 7's siblings of `$ref`, overflows the stack on schemas that
 * refer back to themselves, takes time without bound on alternatives that recur, and needs `new Function`. It is the
 * oracle of the tests instead, beside the labels of real instances (`npm run check:schemas`).
 */
export function documentCheck(
  schema: unknown,
  grammar: Grammar,
  strict: boolean,
  formats?: Formats,
  quote?: QuoteSource,
): DocumentCheck {
  return {
    strict,
    *faultInSlices(text) {
      let value: unknown
      try {
        value = JSON.parse(text)
      } catch (error) {
        return (error as SyntaxError).message
      }
      if (!strict) return undefined
      const its = getOrMake(schemaJudges, grammar, () => judgeOf(schema, formats, quote))
      // Deeper or larger than the judge can follow, it may still be what the grammar wrote.
      const good = (yield* its.inSlices(value)) ?? (yield* grammar.acceptsInSlices(text))
      return good ? undefined : 'it does not satisfy the schema'
    },
  }
}

/** For the arguments of a tool that takes a text: however their JSON is written, the text is one of the grammar's. */
export function inputCheck(grammar: Grammar): DocumentCheck {
  return {
    strict: true,
    *faultInSlices(text) {
      try {
        const { input } = JSON.parse(text) as { input?: unknown }
        if (typeof input === 'string' && (yield* grammar.acceptsInSlices(JSON.stringify({ input })))) return undefined
      } catch {}
      return 'its input does not match its grammar'
    },
  }
}

/** For what is no document: whoever generated it, a text that the grammar does not hold is not sent. */
export function textCheck(grammar: Grammar): DocumentCheck {
  return {
    strict: true,
    *faultInSlices(text) {
      return (yield* grammar.acceptsInSlices(text)) ? undefined : 'it does not match the grammar'
    },
  }
}
