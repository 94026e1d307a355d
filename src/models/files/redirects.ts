/** Servers of models send on to their storages. Whom a user has named must not send on to what only this machine reaches. */
import type { Fetch } from './download.js'
import { broken } from './failure.js'

const MOST = 10

/** Follows redirects to public hosts over https, and to the host that was named. */
export function carefully(fetch: Fetch): Fetch {
  return async (url, init) => {
    // Who asks for the answer that sends on follows nothing.
    if (init.redirect !== undefined) return fetch(url, init)
    const named = new URL(url)
    let at = named
    for (let times = 0; times <= MOST; times++) {
      const response = await fetch(at.href, { ...init, redirect: 'manual' })
      if (response.type === 'opaqueredirect') return afterwards(named, await fetch(at.href, init))
      const to = response.status >= 300 && response.status < 400 ? response.headers.get('location') : null
      if (to === null) return response
      await response.body?.cancel()
      at = new URL(to, at)
      assertPublic(named, at)
    }
    throw broken(named.href, 'its server redirects too often.')
  }
}

/** A page sees no redirect before it was followed, and has its browser's own rules between hosts. */
async function afterwards(named: URL, response: Response): Promise<Response> {
  try {
    if (response.url !== '') assertPublic(named, new URL(response.url))
    return response
  } catch (error) {
    await response.body?.cancel()
    throw error
  }
}

function assertPublic(named: URL, at: URL): void {
  if (at.hostname === named.hostname && (at.protocol === 'https:' || at.protocol === named.protocol)) return
  if (at.protocol === 'https:' && !isPrivate(at.hostname)) return
  throw broken(
    named.href,
    `its server redirects to ${at.origin}: only redirects to public hosts over https are followed.`,
  )
}

/** Names and addresses that mean something else on each machine or network. */
export function isPrivate(host: string): boolean {
  const name = host.toLowerCase().replace(/\.$/, '')
  if (/(^|\.)(localhost|local|internal|lan|home|arpa)$/.test(name)) return true
  if (name.startsWith('[')) {
    const v6 = name.slice(1, -1)
    // Of all that there is, 2000::/3 is public, but for what stands for an address of four bytes.
    return !/^[23][0-9a-f]{3}:/.test(v6) || /^(2002|2001:0?:|2001:db8)/.test(v6)
  }
  const bytes = name.split('.').map(Number)
  if (bytes.length !== 4 || !bytes.every((byte) => byte >= 0 && byte <= 255)) return !name.includes('.')
  const [a, b] = bytes as [number, number]
  return (
    [0, 10, 127].includes(a) ||
    a >= 224 ||
    (a === 100 && b >= 64 && b < 128) ||
    (a === 169 && b === 254) ||
    (a === 172 && b >= 16 && b < 32) ||
    (a === 192 && b === 168) ||
    (a === 198 && (b === 18 || b === 19))
  )
}
