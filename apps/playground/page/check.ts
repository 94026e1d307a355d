/** A file of its own, which is fetched when it is first wanted: most visits need none of it. */
import { compile } from '../../../src/grammar/compile.js'
import { SchemaError, schemaErrorMessage } from '../../../src/grammar/schema-error.js'

/** Why `/v1` would refuse a schema over a text, in its own words; undefined where it takes it. */
export function refusalOf(schema: unknown, text: string): string | undefined {
  try {
    compile(schema, { quote: { texts: [text] } })
    return undefined
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error
    return schemaErrorMessage(error, 'schema')
  }
}
