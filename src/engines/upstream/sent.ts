import { V1Error } from '../../contract/index.js'

/** Sends a body, and gives what came as a text. */
export type SendBody = (path: string, body: unknown, signal: AbortSignal) => Promise<string>

/** Another service keeps to no form that is known: `why` says what it did. */
export const brokenService = (why: string): V1Error =>
  new V1Error(500, `The upstream service ${why}.`, { code: 'upstream_error' })

/** What another service sent, whole; any field of it may be missing. */
export function parsed(text: string, otherwise = 'did not send JSON'): object {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value
  } catch {}
  throw brokenService(otherwise)
}

export const countOf = (value: unknown): number => (Number.isSafeInteger(value) ? Math.max(0, value as number) : 0)

/** A service without a path says so as it says it of any; a model that it lacks is another matter. */
export function lacksPath(error: unknown, model: string): error is V1Error {
  if (!V1Error.is(error) || ![404, 405, 501].includes(error.status)) return false
  return error.code !== 'model_not_found' && !error.message.includes(model)
}

export function asNoPath(error: unknown, model: string, path: string, without: string): unknown {
  if (!lacksPath(error, model)) return error
  const message = `The upstream service has no ${path}: it ${without}.`
  return new V1Error(400, message, { param: 'model', code: 'unsupported_model', cause: error })
}
