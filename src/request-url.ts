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

const SCHEME_AND_HOST = /^[a-z][a-z0-9+.-]*:\/\/[^/?#\\]*/i

/** The path of a request, whatever stands before it; undefined where there is none. */
export function pathOf(text: string): string | undefined {
  const url = urlOf(text)
  if (url !== undefined) return url.pathname
  const before = SCHEME_AND_HOST.exec(text)?.[0]
  // Normalised as any other path is: what finds a route must not depend on the host. Behind a good one, every path is.
  return before === undefined ? undefined : new URL(`http://localhost${text.slice(before.length)}`).pathname
}
