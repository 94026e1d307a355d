import { V1Error } from './errors.js'

/** What a listener knows of a connection and a `Request` does not say. */
export interface ConnectionInfo {
  /** The address of this end, as `socket.localAddress` in Node gives it. */
  readonly localAddress?: string
  /** The address of the other end, as Deno gives it. */
  readonly remoteAddr?: { readonly hostname?: string }
}

export interface OriginRules {
  /** Other origins whose pages may ask. */
  readonly cors: readonly string[]
  /** Host names that requests may be addressed to; absent: any, but for loopback listeners only their own. */
  readonly hosts: readonly string[] | 'any' | undefined
}

/**
 * Whether browsers send it like this: lower case, no path, no slash at its end. Anything else would be on the list and
 * never match. Not by `URL`, which knows no origin of `capacitor://localhost` or an extension.
 */
export function isOrigin(text: string): boolean {
  return text === '*' || text === 'null' || /^[a-z][a-z0-9+.-]*:\/\/[^\sA-Z/?#]+$/.test(text)
}

/** The list of `cors`, which throws rather than hold what can never match. */
export function originList(origins: readonly string[]): readonly string[] {
  const wrong = origins.find((origin) => !isOrigin(origin))
  if (wrong === undefined) return origins
  throw new TypeError(`cors: '${wrong}' is not an origin: write it like 'https://app.example', or '*' for all.`)
}

const EXPOSED =
  'x-request-id, openai-processing-ms, retry-after, retry-after-ms, x-should-retry, x-ignored-fields, x-not-enforced'

/** The headers that let a page on the allow-list read an answer, errors too. */
export function corsHeaders(request: Request, cors: readonly string[]): Record<string, string> {
  if (cors.length === 0) return {}
  const origin = request.headers.get('origin')
  if (origin === null || !isAllowed(origin, cors)) return { vary: 'origin' }
  return { vary: 'origin', 'access-control-allow-origin': origin, 'access-control-expose-headers': EXPOSED }
}

/** The answer to a page's question before it asks. It carries no key yet, and needs none. */
export function preflightHeaders(request: Request, allow: string): Record<string, string> {
  const wanted = request.headers.get('access-control-request-headers')
  return {
    'access-control-allow-methods': allow,
    // Whatever the official clients send today: a page on the list is trusted with any header.
    ...(wanted !== null && { 'access-control-allow-headers': wanted }),
    'access-control-max-age': '7200',
    vary: 'origin, access-control-request-headers',
  }
}

const isAllowed = (origin: string, cors: readonly string[]): boolean => cors.includes(origin) || cors.includes('*')

/**
 * Against DNS rebinding: a page on the web can give its own host name the address of this machine, and is then of the
 * same origin as a server here. What it cannot do is lie about the name.
 */
export function checkOrigin(request: Request, url: URL, rules: OriginRules, info: ConnectionInfo | undefined): void {
  if (rules.hosts === 'any') return
  const loopback = isLoopbackAddress(info?.localAddress ?? info?.remoteAddr?.hostname)
  if (!rules.hosts && !loopback) return
  const known = rules.hosts ? rules.hosts.some((host) => sameHost(host, url)) : isLoopbackName(url.hostname)
  if (!known) {
    const message = `Requests for the host '${url.host}' are not answered here. Add it to 'hosts' if they should be.`
    throw new V1Error(403, message, { code: 'host_not_allowed' })
  }
  const origin = request.headers.get('origin')
  if (origin !== null && !isAllowed(origin, rules.cors) && hostOf(origin) !== url.host) {
    const message = `Requests from the origin '${origin.slice(0, 200)}' are not answered. Add it to 'cors' if they should be.`
    throw new V1Error(403, message, { code: 'origin_not_allowed' })
  }
}

function isLoopbackAddress(address: unknown): boolean {
  return typeof address === 'string' && /^(::1$|(::ffff:)?127\.)/.test(address)
}

function isLoopbackName(hostname: string): boolean {
  return (
    hostname === 'localhost' || hostname.endsWith('.localhost') || hostname === '[::1]' || hostname.startsWith('127.')
  )
}

const sameHost = (host: string, url: URL): boolean =>
  host.toLowerCase() === url.hostname || host.toLowerCase() === url.host

function hostOf(origin: string): string | undefined {
  try {
    return new URL(origin).host
  } catch {
    return undefined
  }
}
