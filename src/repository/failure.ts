import { V1Error } from '../errors.js'

/** The repository is not what it says it is; asking again will not help. */
export function broken(place: string, what: string, cause?: unknown): V1Error {
  return new V1Error(500, `The model at ${place} cannot be loaded: ${what}`, { code: 'model_files', cause })
}

/** The network or the server failed; asking again may help. */
export function unreachable(place: string, what: string, cause?: unknown): V1Error {
  return new V1Error(503, `The model at ${place} cannot be fetched now: ${what}`, {
    code: 'model_unreachable',
    retryAfter: 10,
    cause,
  })
}
