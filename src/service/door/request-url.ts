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
 * `new URL` throws on `127.0.0.1:99999` or `xn--`.
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
