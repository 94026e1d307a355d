import { V1Error } from './errors.js'

/** Whoever a key belongs to. */
export interface Caller {
  /** Shown as `api_key_id` in usage, and used for fair turns; never the key itself. */
  readonly id: string
  /** May see everyone's usage; others see their own. */
  readonly admin?: boolean
  /** The projects that this caller may name; absent: any. */
  readonly projects?: readonly string[]
  /**
   * What is kept for one project of this caller, responses and their items, is not found from another.
   * @default false: its projects share it
   */
  readonly projectsApart?: boolean
}

/** Whether a header can carry it: visible ASCII, as `Bearer` takes it. */
export const isKey = (key: unknown): key is string => typeof key === 'string' && /^[\x21-\x7e]+$/.test(key)

export interface Key extends Partial<Caller> {
  readonly key: string
}

/**
 * Who may ask: a list of keys, a function that knows them, or, said explicitly, everyone. A function should compare in
 * constant time, as the list does.
 */
export type Keys =
  | 'none'
  | readonly (string | Key)[]
  | ((key: string, request: Request) => Caller | null | Promise<Caller | null>)

export type Authenticate = (request: Request) => Caller | Promise<Caller>

/** Everyone, where no keys are asked for: one caller, who may see all usage. */
const ANYONE: Caller = { id: 'anonymous', admin: true }

/** Whether all requests are one caller's, whatever keys they carry. */
export const isSoleCaller = (keys: Keys): boolean => keys === 'none' || (Array.isArray(keys) && keys.length === 1)

export function authenticator(keys: Keys): Authenticate {
  if (keys === 'none') return () => ANYONE
  if (typeof keys === 'function') {
    return async (request) => {
      const key = bearerKey(request)
      return (await keys(key, request)) ?? refuseKey()
    }
  }
  if (!Array.isArray(keys) || keys.length === 0) {
    const none =
      "'none' lets everyone in, which is right where only your own page can ask (in a page or a service worker)"
    throw new TypeError(`keys: give at least one key, or a function; ${none}.`)
  }
  const list = keys.map((key) => (typeof key === 'string' ? { key } : key))
  if (list.some(({ key }) => typeof key !== 'string' || key === '')) throw new TypeError('keys: a key is empty.')
  if (!list.every(({ key }) => isKey(key))) {
    throw new TypeError('keys: a key holds what no header can carry: only visible ASCII, without spaces.')
  }
  let callers: Promise<Caller[]> | Caller[] = Promise.all(list.map(callerOf))
  return async (request) => {
    const found = findKey(list, bearerKey(request))
    if (found < 0) refuseKey()
    if (!Array.isArray(callers)) callers = await callers
    return callers[found]!
  }
}

/** The key that a request carries, in the way every official client of OpenAI sends it, or of Anthropic. */
function bearerKey(request: Request): string {
  const header = request.headers.get('authorization')
  const other = request.headers.get('x-api-key')
  if (header === null && other) return other
  const key = /^Bearer +(\S+)$/i.exec(header ?? '')?.[1]
  if (key !== undefined) return key
  const how = "Send the header 'Authorization: Bearer YOUR_KEY'."
  if (header === null) throw unauthorized(`You didn't provide an API key. ${how}`, 'missing_api_key', CHALLENGE)
  throw unauthorized(`The 'Authorization' header holds no bearer key. ${how}`, 'invalid_api_key', INVALID)
}

const CHALLENGE = 'Bearer realm="local-v1"'
const INVALID = `${CHALLENGE}, error="invalid_token"`

function refuseKey(): never {
  // The key itself is not repeated: answers are logged in more places than requests.
  throw unauthorized('Incorrect API key provided.', 'invalid_api_key', INVALID)
}

function unauthorized(message: string, code: string, challenge: string): V1Error {
  return new V1Error(401, message, { code, headers: { 'www-authenticate': challenge } })
}

/** The place of the key, or -1. Always looks at every character of every key: the time tells nothing. */
function findKey(list: readonly Key[], given: string): number {
  let found = -1
  for (let i = 0; i < list.length; i++) if (sameText(list[i]!.key, given)) found = i
  return found
}

function sameText(secret: string, given: string): boolean {
  let difference = secret.length ^ given.length
  for (let i = 0; i < secret.length; i++) difference |= secret.charCodeAt(i) ^ given.charCodeAt(i % given.length)
  return difference === 0
}

/** A key that was given no name is known by the start of its hash: the same from run to run, and no secret. */
async function callerOf({ key, ...caller }: Key): Promise<Caller> {
  if (caller.id !== undefined) return { ...caller, id: caller.id }
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(key)))
  const name = Array.from(hash.subarray(0, 6), (byte) => byte.toString(16).padStart(2, '0')).join('')
  return { ...caller, id: `key_${name}` }
}
