import { V1Error } from '../../contract/index.js'

/** The error to answer with; what is not ours to tell becomes a 500 that says nothing of it. */
export function requestError(error: unknown, clientLeft: boolean): V1Error {
  // Nobody is there to read it; the log wants to know.
  if (clientLeft) return new V1Error(499, 'The client closed the request.', { code: 'client_closed_request' })
  if (V1Error.is(error)) return error
  return new V1Error(500, 'The server had an error while processing your request.', { cause: error })
}

/** The headers that an error brings along, beside those of every answer. */
export function errorHeaders(error: V1Error): Record<string, string> {
  const headers: Record<string, string> = { 'content-type': 'application/json', ...error.headers }
  if (error.status === 429 || error.status === 503) {
    const seconds = error.retryAfter ?? 1
    headers['retry-after'] = String(Math.ceil(seconds))
    headers['retry-after-ms'] = String(Math.round(seconds * 1000))
    headers['x-should-retry'] ??= 'true'
  }
  return headers
}
