import type { Dialect } from '../endpoints.js'
import type { V1Error } from '../errors.js'

/** An error in Ollama's form, whose one text has the field at fault too. */
export function wireError({ message, param }: V1Error): { readonly error: string } {
  return { error: param === null || message.includes(`'${param}'`) ? message : `'${param}': ${message}` }
}

export const dialect: Dialect = { error: wireError, requestIdHeader: 'x-request-id' }
