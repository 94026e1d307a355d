/**
 * Whether a browser blocks storage, as in frames of other sites. Each says so in its own way; where there is no IndexedDB
 * at all its name is unknown.
 */
export function isForbidden(error: unknown): boolean {
  const { name, message } = error as { name?: unknown; message?: unknown }
  if (name === 'UnknownError') return /denied permission/i.test(String(message))
  return name === 'SecurityError' || name === 'InvalidStateError' || name === 'ReferenceError'
}
