import { V1Error } from '../../errors.js'

/** A lost device may refuse even to free what it held. */
export function quietly(action: () => void): void {
  try {
    action()
  } catch {
    // Nothing is left to free.
  }
}

/** What callers are told when a step has failed. */
export function modelFailed(cause: unknown): V1Error {
  if (V1Error.is(cause)) return cause
  const why = cause instanceof Error ? cause.message : String(cause)
  return new V1Error(503, `The model stopped working: ${why}`, { code: 'engine_failed', retryAfter: 1, cause })
}
