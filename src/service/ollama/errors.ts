import type { V1Error } from '../../contract/index.js'
import type { Dialect } from '../endpoints.js'

/** An error in Ollama's form, whose one text has the field at fault too. */
export function wireError({ message, param }: V1Error): { readonly error: string } {
  return { error: param === null || names(message, param) ? message : `'${param}': ${message}` }
}

/** As a word of its own: `response_format` is not `format`. */
function names(message: string, param: string): boolean {
  const at = message.indexOf(param)
  return at >= 0 && !/\w/.test(message.charAt(at - 1)) && !/\w/.test(message.charAt(at + param.length))
}

export const dialect: Dialect = { error: wireError, requestIdHeader: 'x-request-id' }
