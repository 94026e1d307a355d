import type { OutputFormat } from '../../contract/index.js'
import type { JsonObject } from '../../platform/index.js'
import { aBoolean, at, optional, unsupported } from './fields.js'

const FIELD = 'quote'

/**
 * An extension, ours: all strings of the document are to be stretches of what users and tools say. `holder` stands at
 * `path` and may have the field; `format` is the field that must ask for a document.
 */
export function withQuote(output: OutputFormat, holder: JsonObject, path: string, format: string): OutputFormat {
  if (!optional(holder, FIELD, path, aBoolean)) return output
  if (output.type === 'json_schema' || output.type === 'json_object') return { ...output, quote: true }
  throw unsupported(at(path, FIELD), `Quotes need a JSON answer: request one with '${format}'.`)
}
