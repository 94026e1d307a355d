import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import { V1Error } from '../../contract/index.js'
import { getOrMake } from '../../platform/index.js'

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
 * Who may send requests: a list of keys, a function that knows them, or `'none'` for everyone. A function should compare in
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
      "'none' lets everyone in, which is right if only your own page can send requests (in a page or a service worker)"
    throw new TypeError(`keys: give at least one key, or a function; ${none}.`)
  }
  const list = keys.map((key) => (typeof key === 'string' ? { key } : key))
  // In JavaScript, a variable of the environment that is not set.
  if (list.some((each) => each == null)) throw new TypeError('keys: a key is not set: it is undefined or null.')
  if (list.some(({ key }) => typeof key !== 'string' || key === '')) throw new TypeError('keys: a key is empty.')
  if (!list.every(({ key }) => isKey(key))) {
    throw new TypeError('keys: a key has characters that no header can carry: use visible ASCII only, without spaces.')
  }
  const ring = new KeyRing(list)
  const callers: Caller[] = []
  return (request) => {
    const found = ring.placeOf(bearerKey(request))
    if (found < 0) refuseKey()
    callers[found] ??= callerOf(list[found]!)
    return callers[found]
  }
}

/** Those whose key nobody knows, or who send none: they wait in one line. */
const NOBODY = ''

/**
 * In which line a request waits before anything else is done for it: that of its key, as far as it is known at once. Keys
 * that only a function knows are taken as they are sent.
 */
export function lineOf(keys: Keys): (request: Request) => string {
  if (keys === 'none') return () => NOBODY
  if (typeof keys === 'function') return (request) => sentKey(request) ?? NOBODY
  const ring = new KeyRing(keys.map((key) => (typeof key === 'string' ? { key } : key)))
  return (request) => {
    const key = sentKey(request)
    const found = key === undefined ? -1 : ring.placeOf(key)
    return found < 0 ? NOBODY : `${found}`
  }
}

/** The key that a request carries, in the way every official client of OpenAI sends it, or of Anthropic. */
function sentKey({ headers }: Request): string | undefined {
  const header = headers.get('authorization')
  if (header === null) return headers.get('x-api-key') || undefined
  return /^Bearer +(\S+)$/i.exec(header)?.[1]
}

function bearerKey(request: Request): string {
  const key = sentKey(request)
  if (key !== undefined) return key
  const header = request.headers.get('authorization')
  const how = "Send the header 'Authorization: Bearer YOUR_KEY'."
  if (header === null) throw unauthorized(`You didn't provide an API key. ${how}`, 'missing_api_key', CHALLENGE)
  throw unauthorized(`The 'Authorization' header has no bearer key. ${how}`, 'invalid_api_key', INVALID)
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

/**
 * Finds a key among thousands without looking at all of them. They lie under numbers that are made of them and of two
 * random ones: the time tells how long the sent key is, and nothing of another that does not have the same number.
 */
class KeyRing {
  readonly #keys: readonly Key[]
  readonly #places = new Map<number, number[]>()
  readonly #random = crypto.getRandomValues(new Uint32Array(2))

  constructor(keys: readonly Key[]) {
    this.#keys = keys
    for (const [place, { key }] of keys.entries()) {
      const number = this.#numberOf(key)
      getOrMake(this.#places, number, () => []).push(place)
    }
  }

  /** Of the key, or -1. Looks at every character of those that it might be. */
  placeOf(given: string): number {
    let found = -1
    for (const place of this.#places.get(this.#numberOf(given)) ?? []) {
      if (sameText(this.#keys[place]!.key, given)) found = place
    }
    return found
  }

  #numberOf(text: string): number {
    const [first, factor] = this.#random as unknown as readonly [number, number]
    let number = first
    for (let i = 0; i < text.length; i++) {
      // An odd factor loses nothing of what was before.
      number = Math.imul(number ^ text.charCodeAt(i), factor | 1)
      number ^= number >>> 15
    }
    return number
  }
}

function sameText(secret: string, given: string): boolean {
  let difference = secret.length ^ given.length
  for (let i = 0; i < secret.length; i++) difference |= secret.charCodeAt(i) ^ given.charCodeAt(i % given.length)
  return difference === 0
}

/**
 * A key that was given no name is known by the start of its hash: the same from run to run, and no secret. Not by `subtle`,
 * which a page has not that came by plain http.
 */
function callerOf({ key, ...caller }: Key): Caller {
  return { ...caller, id: caller.id ?? `key_${bytesToHex(sha256(utf8ToBytes(key)).subarray(0, 6))}` }
}

/** The header of the official clients, and the neutral name beside it. */
export const PROJECT_HEADERS: readonly string[] = ['openai-project', 'compat-project']

const PROJECT_FORM = /^[A-Za-z0-9][\w.-]{0,99}\/[A-Za-z0-9][\w.-]{0,99}$/

/** The projects that requests are counted for. Usage is kept for each name, so that a caller may not invent any number. */
export class Projects {
  readonly #headers: readonly string[]
  readonly #most: number
  readonly #seen = new Map<string, Set<string>>()

  constructor(headers: readonly string[], most: number) {
    this.#headers = headers
    this.#most = most
  }

  /** `<team>/<project>`, or null when the request names none. */
  of(request: Request, caller: Caller): string | null {
    const project = this.#named(request)
    if (project === null) return null
    if (caller.projects) {
      if (caller.projects.includes(project)) return project
      throw new V1Error(403, `This key may not be used for the project '${project}'.`, { code: 'project_not_allowed' })
    }
    const seen = this.#seen.get(caller.id) ?? new Set()
    if (!seen.has(project)) {
      if (seen.size >= this.#most) throw tooManyProjects(project, this.#most)
      this.#seen.set(caller.id, seen.add(project))
    }
    return project
  }

  #named(request: Request): string | null {
    let project: string | null = null
    for (const name of this.#headers) {
      const value = request.headers.get(name)
      if (value === null) continue
      if (!PROJECT_FORM.test(value)) {
        throw invalidProject(name, `Invalid header '${name}': expected the form '<team>/<project>'.`)
      }
      if (project !== null && project !== value) {
        throw invalidProject(name, `The headers '${this.#headers.join("' and '")}' name different projects.`)
      }
      project = value
    }
    return project
  }
}

function invalidProject(param: string, message: string): V1Error {
  return new V1Error(400, message, { param, code: 'invalid_project' })
}

function tooManyProjects(project: string, most: number): V1Error {
  const message = `This key has been used for ${most} projects since the service began: '${project}' would be one more. Use one of those, or raise 'maxProjects'.`
  return new V1Error(403, message, { code: 'too_many_projects' })
}
