import type { SchemaSource } from '../../contract/index.js'
import type { Slices } from '../../platform/index.js'
import type { Frame } from '../automaton/frame.js'
import { FrameTable } from '../automaton/frame-table.js'
import { Fuel } from '../fuel.js'
import { Context } from '../schema/context.js'
import { Document } from '../schema/document.js'
import { Quotes } from '../schema/quotes.js'
import { compileAhead } from '../schema/texts.js'
import { Values } from '../schema/values.js'
import { SchemaError } from '../schema-error.js'
import { layoutOf } from '../values/format.js'

/** The documents of one schema, compiled: a grammar of their own, or a part of others. */
export interface Documents {
  /** Before any of them. */
  readonly first: Frame
  /** Drops what was only kept to be quick. */
  readonly forget: () => void
  /** What a lenient compilation could not enforce. */
  readonly notEnforced: readonly SchemaError[]
  /** The steps that compiling them took. */
  readonly steps: number
  /** What is kept of them, as real schemas take it on average. */
  readonly bytes: number
}

const DOCUMENTS_BYTES = 4000
const STEP_BYTES = 16

/** By the very object that a grammar has as its source: whoever puts grammars together need not compile them again. */
const compiled = new WeakMap<SchemaSource, Documents>()

/** From now on whatever this source is a part of is made of these. */
export function remember(source: SchemaSource, documents: Documents): void {
  compiled.set(source, documents)
}

/** What was remembered of a source, or else compiled anew. Pauses every few milliseconds. */
export function* documentsOf(source: SchemaSource): Slices<Documents> {
  const known = compiled.get(source)
  if (known !== undefined) return known
  const { schema, strict = true, layout: chosen = 'compact', formats } = source
  const layout = layoutOf(chosen)
  const ignored: SchemaError[] | undefined = strict ? undefined : []
  const fuel = new Fuel(source.fuel)
  try {
    const quotes = source.quote && (yield* Quotes.compiled(source.quote))
    const context = new Context(yield* Document.inSlices(schema), fuel, layout, ignored, formats, quotes)
    yield* compileAhead(context, schema)
    const root = yield* new Values(context).root()
    const table = new FrameTable(layout)
    const steps = fuel.spent
    const bytes = DOCUMENTS_BYTES + STEP_BYTES * steps
    return { first: table.value(root), forget: () => table.forget(), notEnforced: ignored ?? [], steps, bytes }
  } catch (error) {
    // The engine's own limit on recursion: the one thing that steps do not count.
    if (error instanceof RangeError) throw new SchemaError(fuel.place.path, '', 'the schema is nested too deeply.')
    throw error
  }
}
