import type { QuoteSource, SchemaSource } from '../contract/index.js'
import { atOnce, type Slices } from '../platform/index.js'
import { Machine } from './automaton/machine.js'
import { Grammar } from './grammar.js'
import { documentsOf, remember } from './rules/documents.js'
import type { Formats } from './schema/context.js'
import { SchemaError } from './schema-error.js'
import type { LayoutOption } from './values/format.js'

export interface CompileOptions {
  /**
   * Whether to refuse schemas that cannot be enforced exactly. Otherwise such parts are left out and listed in `notEnforced`.
   * Unknown keywords are ignored, except misspelt ones and those of other dialects, which were meant to restrict.
   * @default true
   */
  strict?: boolean
  /**
   * `spaced` writes one space after `:` and `,`. An indent of 1 to 10 spaces, or of a tab, is the same as in
   * `JSON.stringify(value, null, indent)`; the shortest document is then the one with the fewest lines. With
   * `{ whitespace: 20 }` the model may write up to 20 bytes of white space wherever JSON allows it in the document;
   * `{ whitespace: 20, of: ' ' }` allows only spaces.
   * @default 'compact'
   */
  layout?: LayoutOption
  /**
   * How much work the compilation may take.
   * @default 200000
   */
  fuel?: number
  /**
   * Your own names for `format`, which come before the known ones: the pattern that a text must match, or `true` for a
   * name without a rule.
   * @default none: unknown formats are refused
   */
  formats?: Formats
  /**
   * The texts from which strings must be quoted, by whole words: strings with `"x-quote": true` in the schema, or with
   * `all` all strings except those with an `enum` or a `const`. See docs/evidence.md.
   * @default none: `x-quote` is refused
   */
  quote?: QuoteSource
}

/** Shortest documents beyond this many bytes are refused: no model writes them. */
const LONGEST = 1_000_000

/** Compiles a JSON Schema. Throws `SchemaError` for what cannot be enforced exactly. */
export function compile(schema: unknown, options: CompileOptions = {}): Grammar {
  return atOnce(compileInSlices(schema, options))
}

/** Like `compile`, as a generator that pauses every few milliseconds, so that other work can run. */
export function* compileInSlices(schema: unknown, options: CompileOptions = {}): Slices<Grammar> {
  const { strict = true, layout = 'compact', fuel, formats, quote } = options
  const source: SchemaSource = {
    schema,
    strict,
    layout,
    ...(fuel !== undefined && { fuel }),
    ...(formats && { formats }),
    ...(quote && { quote }),
  }
  const documents = yield* documentsOf(source)
  const { first, forget } = documents
  if (first.length > LONGEST) throw new SchemaError([], '', `every document would be longer than ${LONGEST} bytes.`)
  remember(source, documents)
  return new Grammar(new Machine(first, forget), { ...documents, source })
}
