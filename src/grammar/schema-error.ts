/** A step from the schema's root to the place at fault: a property name or an array index. */
export type SchemaPath = readonly (string | number)[]

/** Why a schema cannot be enforced exactly, and where. */
export class SchemaError extends Error {
  /** JSON pointer parts of the subschema that holds the keyword. */
  readonly path: SchemaPath
  /** The keyword that cannot be enforced; empty when the whole subschema is at fault. */
  readonly keyword: string

  constructor(path: SchemaPath, keyword: string, message: string) {
    super(message)
    this.name = 'SchemaError'
    this.path = path
    this.keyword = keyword
  }
}

/** OpenAI's wording of a refused schema: `Invalid schema for response_format 'NAME': In context=('properties', 'x'), ...` */
export function schemaErrorMessage(error: SchemaError, name: string, subject = 'response_format'): string {
  const { keyword, message, path } = error
  // The platform's own words for a broken pattern do not say which keyword it is.
  const named = message.includes(keyword) ? message : `'${keyword}': ${message}`
  return `Invalid schema for ${subject} '${name}': In context=${tuple(path)}, ${named}`
}

/** The path as Python prints a tuple, which is what OpenAI's service sends. */
function tuple(path: SchemaPath): string {
  const parts = path.map((part) => (typeof part === 'number' ? `'${part}'` : quote(part)))
  return parts.length === 1 ? `(${parts[0]},)` : `(${parts.join(', ')})`
}

function quote(text: string): string {
  const escaped = text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\r', '\\r').replaceAll('\t', '\\t')
  return escaped.includes("'") && !escaped.includes('"') ? `"${escaped}"` : `'${escaped.replaceAll("'", "\\'")}'`
}
