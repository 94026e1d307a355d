/** What the address carries after `#`: `key=...`, `share=...`. It is never sent to a server. */

/** The value of a name, which is then no longer in the address, nor in the history. */
export function takeFromFragment(name: string): string | undefined {
  const fragment = new URLSearchParams(location.hash.slice(1))
  const value = fragment.get(name)
  if (value === null) return undefined
  fragment.delete(name)
  const rest = fragment.toString()
  history.replaceState(history.state, '', location.pathname + location.search + (rest === '' ? '' : `#${rest}`))
  return value
}

/** This page with one thing in its fragment. */
export function linkWith(name: string, value: string): string {
  const url = new URL(location.href)
  url.hash = new URLSearchParams({ [name]: value }).toString()
  return url.href
}
