import { V1Error } from '../../contract/index.js'

/** The repository is not what it says it is; asking again will not help. */
export function broken(place: string, fault: string, cause?: unknown): V1Error {
  return new V1Error(500, `The model at ${place} cannot be loaded: ${fault}`, { code: 'model_files', cause })
}

/** Files that are cut or contradict themselves; the same weights, whole, would do. */
export const damaged = (place: string, fault: string, cause?: unknown): V1Error =>
  broken(place, `${fault} Its files are damaged or not whole: download it again.`, cause)

/**
 * What is thrown while a model's files are read: where it is no refusal of ours, those contradict themselves in a way that
 * nobody has thought of, which is still their fault.
 */
export function asBroken(place: string, error: unknown): unknown {
  if (V1Error.is(error) || (error as { name?: unknown } | null)?.name === 'AbortError') return error
  const why = error instanceof Error ? error.message : String(error)
  return damaged(place, `its files cannot be understood: ${why.slice(0, 200).replace(/[^.!?]$/, '$&.')}`, error)
}

/** What its files say is made something of; what they contradict themselves in is theirs. */
export function understood<T>(place: string, make: () => T): T {
  try {
    return make()
  } catch (error) {
    throw asBroken(place, error)
  }
}

/** The network or the server failed; asking again may help. */
export function unreachable(place: string, fault: string, cause?: unknown): V1Error {
  return new V1Error(503, `The model at ${place} cannot be fetched now: ${fault}`, {
    code: 'model_unreachable',
    retryAfter: 10,
    cause,
  })
}
