import { V1Error } from '../../errors.js'

/** Another service keeps to no form that is known: `why` says what it did. */
export const broken = (why: string): V1Error =>
  new V1Error(500, `The service behind this one ${why}.`, { code: 'upstream_error' })

/** What another service sent, whole; any field of it may be missing. */
export function parsed(text: string, otherwise = 'sent what is no JSON'): object {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value
  } catch {}
  throw broken(otherwise)
}
