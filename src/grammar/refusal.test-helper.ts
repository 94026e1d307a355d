import { compile, SchemaError } from './structured.js'

/** Why a schema is refused; throws if it is not. */
export function refusal(schema: unknown): SchemaError {
  try {
    compile(schema)
  } catch (error) {
    if (error instanceof SchemaError) return error
    throw error
  }
  throw new Error(`not refused: ${JSON.stringify(schema)}`)
}
