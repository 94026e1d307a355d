import { FrameTable } from './automaton/frame-table.js'
import { Machine } from './automaton/machine.js'
import { Fuel } from './fuel.js'
import { Grammar } from './grammar.js'
import { Context } from './schema/context.js'
import { Document } from './schema/document.js'
import { type LayoutOption, layoutOf } from './schema/format.js'
import { Values } from './schema/values.js'
import { SchemaError } from './schema-error.js'

export interface CompileOptions {
  /**
   * Refuse what cannot be enforced exactly. Otherwise it is left out and listed in the grammar's `notEnforced`.
   * Unknown words are annotations, except misspelt keywords and those of other dialects, which were meant to restrict.
   * @default true
   */
  strict?: boolean
  /**
   * `spaced` writes one space after `:` and `,`. An indent of 1 to 10 spaces, or of a tab, writes what
   * `JSON.stringify(value, null, indent)` writes; the shortest document is then the one with the fewest lines.
   * @default 'compact'
   */
  layout?: LayoutOption
  /**
   * How much work the compilation may take.
   * @default 200000
   */
  fuel?: number
}

/** Shortest documents beyond this many bytes are refused: no model writes them. */
const LONGEST = 1_000_000

/** Compiles a JSON Schema. Throws `SchemaError` for what cannot be enforced exactly. */
export function compile(schema: unknown, options: CompileOptions = {}): Grammar {
  const { strict = true, layout: chosen = 'compact' } = options
  const layout = layoutOf(chosen)
  const ignored: SchemaError[] | undefined = strict ? undefined : []
  const fuel = new Fuel(options.fuel)
  try {
    const root = new Values(new Context(new Document(schema), fuel, layout, ignored)).root()
    const program = new FrameTable(layout)
    const start = program.value(root)
    if (start.length > LONGEST) throw new SchemaError([], '', `every document would be longer than ${LONGEST} bytes.`)
    const source = { schema, strict, layout: chosen, ...(options.fuel !== undefined && { fuel: options.fuel }) }
    return new Grammar(new Machine(start, () => program.forget()), ignored ?? [], source, fuel.spent)
  } catch (error) {
    // The engine's own limit on recursion: the one thing that steps do not count.
    if (error instanceof RangeError) throw new SchemaError(fuel.place.path, '', 'the schema is nested too deeply.')
    throw error
  }
}
