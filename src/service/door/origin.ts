import { V1Error } from '../../contract/index.js'

/** As a URL writes it, without a slash at its end. */
export function basePathOf(path: string): string {
  const { pathname } = new URL(path.startsWith('/') ? path : `/${path}`, 'http://localhost')
  return pathname.replace(/\/+$/, '')
}

/** What follows the base path, by whole segments; undefined for a path that does not lie under it. */
export function pathUnder(base: string, pathname: string): string | undefined {
  return pathname === base || pathname.startsWith(`${base}/`) ? pathname.slice(base.length) : undefined
}

/**
 * The URL of a request; undefined where it is none. A server may hand on whatever a client wrote as its `Host`, and
 * `new URL` throws on `127.0.0.1:99999` or `a^b`.
 */
export function urlOf(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}

/** What is asked of the URL of a request. */
export type RequestUrl = Pick<URL, 'protocol' | 'host' | 'hostname' | 'port' | 'pathname' | 'search'>

/** What is before the path of the last one: most requests come to one host. */
let last: { readonly origin: string; readonly url: URL } | undefined

/** A path that a URL writes as it stands. */
const PLAIN = /^(?:\/[\w-]+)+$/

/** `urlOf`, without taking apart what is known from the request before. */
export function requestUrlOf(text: string): RequestUrl | undefined {
  if (last && text.startsWith(last.origin)) {
    const pathname = text.slice(last.origin.length)
    if (PLAIN.test(pathname)) {
      const { protocol, host, hostname, port } = last.url
      return { protocol, host, hostname, port, pathname, search: '' }
    }
  }
  const url = urlOf(text)
  if (url !== undefined && text.startsWith(`${url.origin}/`)) last = { origin: url.origin, url }
  return url
}

const SCHEME_AND_HOST = /^[a-z][a-z0-9+.-]*:\/\/[^/?#\\]*/i

/** The path of a request, whatever stands before it; undefined where there is none. */
export function pathOf(text: string): string | undefined {
  const url = urlOf(text)
  if (url !== undefined) return url.pathname
  const before = SCHEME_AND_HOST.exec(text)?.[0]
  // Normalised as any other path is: what finds a route must not depend on the host. Behind a good one, every path is.
  return before === undefined ? undefined : new URL(`http://localhost${text.slice(before.length)}`).pathname
}

/**
 * What a server knows of a connection and a `Request` does not say: `{ localAddress: socket.localAddress }` in Node, and in
 * Deno and Bun the second argument of the handler. An address that is not known counts as one of this machine.
 */
export interface ConnectionInfo {
  /** The address of this end, as `socket.localAddress` in Node gives it. */
  readonly localAddress?: string | undefined
  /** The address of the other end, as Deno gives it. */
  readonly remoteAddr?: { readonly hostname?: string }
  /** The address of the other end, as Bun's server gives it. */
  requestIP?(request: Request): { readonly address: string } | null
  /** How many seconds Bun's server lets a connection be silent; 0: any number. */
  timeout?(request: Request, seconds: number): void
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
  if (!Array.isArray(origins)) throw new TypeError("cors: give a list of origins, like ['https://app.example'].")
  const wrong = origins.find((origin) => !isOrigin(origin))
  if (wrong === undefined) return origins
  throw new TypeError(`cors: '${wrong}' is not an origin: write it like 'https://app.example', or '*' for all.`)
}

const EXPOSED =
  'x-request-id, request-id, openai-processing-ms, retry-after, retry-after-ms, x-should-retry, x-ignored-fields, x-not-enforced, x-skipped-tools'

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
export function checkOrigin(
  request: Request,
  url: RequestUrl,
  rules: OriginRules,
  info: ConnectionInfo | undefined,
): void {
  if (rules.hosts === 'any') return
  if (!rules.hosts && !isFromHere(request, info)) return
  const known = rules.hosts ? rules.hosts.some((host) => sameHost(host, url)) : isLoopback(url.hostname)
  if (!known) {
    const message = `Requests for the host '${url.host.slice(0, 300)}' are not answered here. Add it to 'hosts' if they should be.`
    throw new V1Error(403, message, { code: 'host_not_allowed' })
  }
  const origin = request.headers.get('origin')
  if (origin !== null && !isAllowed(origin, rules.cors) && urlOf(origin)?.host !== url.host) {
    const message = `Requests from the origin '${origin.slice(0, 200)}' are not answered. Add it to 'cors' if they should be.`
    throw new V1Error(403, message, { code: 'origin_not_allowed' })
  }
}

/** Whether the connection may come from this machine. Where nothing is said of a connection, there is none. */
function isFromHere(request: Request, info: ConnectionInfo | undefined): boolean {
  if (typeof info !== 'object' || info === null) return false
  if ('localAddress' in info) return mayBeLoopback(info.localAddress)
  if ('remoteAddr' in info) return mayBeLoopback(info.remoteAddr?.hostname)
  if (typeof info.requestIP === 'function') return mayBeLoopback(info.requestIP(request)?.address)
  return false
}

/** A socket in the file system has no address, nor has one that is closed already: those are taken for our own. */
function mayBeLoopback(address: unknown): boolean {
  if (typeof address !== 'string') return true
  const url = urlOf(`http://${address.includes(':') ? `[${address.replace(/%.*/, '')}]` : address}`)
  return url === undefined || isLoopback(url.hostname)
}

/**
 * A host as `URL` writes it, which knows every spelling of an address: what ends in a number and is no address is no
 * host. Names below `localhost` are nobody else's to give (RFC 6761).
 */
function isLoopback(hostname: string): boolean {
  if (/^(.+\.)?localhost\.?$/.test(hostname) || hostname === '[::1]') return true
  return /^127(\.\d+){3}$/.test(hostname) || /^\[::ffff:7f[\da-f]{2}:[\da-f]+\]$/.test(hostname)
}

/** The list of `hosts` as `URL` writes them, which throws rather than hold what can never match. */
export function hostList(hosts: readonly string[] | 'any' | undefined): readonly string[] | 'any' | undefined {
  if (hosts === undefined || hosts === 'any') return hosts
  if (!Array.isArray(hosts)) throw new TypeError("hosts: give a list of host names, like ['api.example'], or 'any'.")
  return hosts.map((host) => {
    const url = /[/?#@\\\s]/.test(host) ? undefined : urlOf(`http://${host}`)
    // What ends in a bracket is an address, whose digits are no port.
    if (url !== undefined) return /:\d+$/.test(host) ? `${url.hostname}:${portOf(url)}` : url.hostname
    throw new TypeError(`hosts: '${host}' is not a host: write it like 'api.example' or 'localhost:8080'.`)
  })
}

const sameHost = (host: string, url: RequestUrl): boolean =>
  host === url.hostname || host === `${url.hostname}:${portOf(url)}`

const portOf = ({ port, protocol }: RequestUrl): string => port || (protocol === 'https:' ? '443' : '80')
