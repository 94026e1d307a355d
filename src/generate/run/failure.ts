import { V1Error } from '../../contract/index.js'

/** A lost device may refuse even to free what it held. */
export function quietly(action: () => void): void {
  try {
    action()
  } catch {
    // Nothing is left to free.
  }
}

/** What a caller is told whose answer cannot go on because the model computes no numbers. */
export function notNumbers(): V1Error {
  const message =
    "The model's output is not a number: its weights are damaged, or this text drives its values beyond the range of its format. Download the weights again, or use the model in another format."
  return new V1Error(500, message, { code: 'model_output_invalid', headers: { 'x-should-retry': 'false' } })
}

/** A model has found that its cache cannot grow as far as it had said; nothing has changed. */
export const isCacheFull = (error: unknown): boolean => V1Error.is(error) && error.code === 'cache_full'

/** What callers are told when a step has failed. */
export function modelFailed(cause: unknown): V1Error {
  if (V1Error.is(cause)) return cause
  const why = cause instanceof Error ? cause.message : String(cause)
  return new V1Error(503, `The model stopped working: ${why}`, { code: 'engine_failed', retryAfter: 1, cause })
}
