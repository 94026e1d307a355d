/** As a URL writes it, without a slash at its end. */
export function basePathOf(path: string): string {
  const { pathname } = new URL(path.startsWith('/') ? path : `/${path}`, 'http://localhost')
  return pathname.replace(/\/+$/, '')
}

/** What follows the base path, by whole segments; undefined for a path that does not lie under it. */
export function pathUnder(base: string, pathname: string): string | undefined {
  return pathname === base || pathname.startsWith(`${base}/`) ? pathname.slice(base.length) : undefined
}
