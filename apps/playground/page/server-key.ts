import { takeFromFragment } from './fragment.js'

const KEPT = 'local-v1 key'

let current = ''

/**
 * The key for the server's `/v1`. The link that `local-v1 serve` prints has it in its fragment, which browsers send to
 * nobody; it is taken out of the address at once, and kept for as long as this tab is open.
 */
export function keyForServer(): () => string {
  const given = takeFromFragment('key')
  current = given ?? kept()
  if (given !== undefined) keep(given)
  return () => current
}

export function setKey(key: string): void {
  current = key.trim()
  keep(current)
}

function kept(): string {
  try {
    return sessionStorage.getItem(KEPT) ?? ''
  } catch {
    return ''
  }
}

function keep(key: string): void {
  try {
    sessionStorage.setItem(KEPT, key)
  } catch {
    // A forbidden store: the key lasts as long as the page.
  }
}
