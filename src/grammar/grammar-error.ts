import { SchemaError } from './schema-error.js'

/** Why a grammar (not a JSON Schema) cannot be enforced, and where. */
export class GrammarError extends SchemaError {
  /** In the grammar's own text, from 1; absent where it has none. */
  readonly line: number | undefined
  readonly column: number | undefined

  constructor(message: string, place?: { readonly text: string; readonly at: number }) {
    const before = place?.text.slice(0, place.at).split('\n')
    const line = before?.length
    const column = before === undefined ? undefined : Array.from(before.at(-1)!).length + 1
    super([], '', line === undefined ? message : `line ${line}, column ${column}: ${message}`)
    this.name = 'GrammarError'
    this.line = line
    this.column = column
  }
}
