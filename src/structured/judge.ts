import { Fuel } from './fuel.js'
import { Context, type Formats } from './schema/context.js'
import { Document } from './schema/document.js'
import { satisfies } from './schema/evaluate.js'
import { COMPACT } from './schema/format.js'
import { SchemaError } from './schema-error.js'

/** Far more than any document takes that a model writes. */
const STEPS = 2_000_000

/**
 * Whether a value satisfies a schema that has been compiled strictly: in any order of its keys, of which the grammar
 * admits one alone. Undefined for one that is too deep or too costly to be looked at.
 */
export function judge(schema: unknown, value: unknown, formats?: Formats): boolean | undefined {
  try {
    const context = new Context(new Document(schema), new Fuel(STEPS), COMPACT, undefined, formats)
    return satisfies(context, context.atom(context.document.root), value)
  } catch (error) {
    if (error instanceof SchemaError || error instanceof RangeError) return undefined
    throw error
  }
}
