import type { V1Error } from '../../contract/index.js'
import type { Dialect } from '../endpoints.js'

const TYPES: ReadonlyMap<number, string> = new Map([
  [401, 'authentication_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [408, 'timeout_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [503, 'overloaded_error'],
  [504, 'timeout_error'],
])

/** An error in Anthropic's form, which has no place for the field at fault but its message. */
export function wireError({ status, message: said, param, code }: V1Error, requestId: string) {
  const message = param === null || said.includes(param) ? said : `${param}: ${said}`
  const type = TYPES.get(status) ?? (status >= 500 ? 'api_error' : 'invalid_request_error')
  const error = { type, message, ...(code !== null && { details: { error_code: code } }) }
  return { type: 'error', error, request_id: requestId }
}

export const dialect: Dialect = { error: wireError, requestIdHeader: 'request-id' }
