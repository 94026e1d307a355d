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
   * Refuse what cannot be enforced exactly. Otherwise it is left out and listed in the grammar's `notEnforced`.
   * Unknown words are annotations, except misspelt keywords and those of other dialects, which were meant to restrict.
   * @default true
   */
  strict?: boolean
  /**
   * `spaced` writes one space after `:` and `,`. An indent of 1 to 10 spaces, or of a tab, writes what
   * `JSON.stringify(value, null, indent)` writes; the shortest document is then the one with the fewest lines. With
   * `{ whitespace: 20 }` the model may put up to 20 bytes of white space wherever JSON allows it within the document;
   * `{ whitespace: 20, of: ' ' }` lets it have spaces alone.
   * @default 'compact'
   */
  layout?: LayoutOption
  /**
   * How much work the compilation may take.
   * @default 200000
   */
  fuel?: number
  /**
   * What names of `format` mean that are your own, before those that are known: the pattern that a text matches, or
   * `true` where the name only describes.
   * @default none: formats that nobody knows are refused
   */
  formats?: Formats
  /**
   * Texts of which strings must be stretches, cut between words: the strings of which the schema says
   * `"x-quote": true`, or with `all` every one that it does not spell out. See docs/evidence.md.
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

/** As `compile`, with a pause every few milliseconds in which others may work: `for (const _ of ...)` would be one of them. */
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
