/** What the hub says of a large file before it is downloaded: the SHA-256 that git knows it by. */
import { isRecord } from '../../platform/index.js'
import type { Fetch } from './download.js'
import type { KnownOfFile } from './files.js'
import { type FileStore, noteText } from './store/store.js'

const SHA256 = /^[0-9a-f]{64}$/i
/** As the hub and its mirrors lay out their addresses. */
const RESOLVED = /^(\/[^/]+\/[^/]+)\/resolve\/([^/]+)\/(.+)$/

/** A source that does not say it by then holds up no download. */
const LONGEST_MS = 5000

/** Undefined where the source names none, or cannot be asked: the size must do then. */
export async function hashNamedBySource(
  url: string,
  fetch: Fetch,
  signal: AbortSignal,
): Promise<KnownOfFile | undefined> {
  const parts = new URL(url).pathname.match(RESOLVED)
  if (!parts) return undefined
  const late = AbortSignal.timeout(LONGEST_MS)
  const either = AbortSignal.any([signal, late])
  try {
    const response = await fetch(url, { method: 'HEAD', redirect: 'manual', signal: either })
    await response.body?.cancel()
    // The answer that sends on to a storage names the file; a page sees nothing of it.
    if (response.type === 'opaqueredirect') return await fromList(new URL(url).origin, parts, fetch, either)
    return knownOf(response.headers.get('x-linked-etag'), response.headers.get('x-linked-size'))
  } catch {
    signal.throwIfAborted()
    return undefined
  }
}

const noteOf = (url: string) => `${url}.sha256`

/**
 * Kept beside the file, so that it can be verified later without a network: of one for which there is no room, or which
 * another process deletes meanwhile, the size must do.
 */
export const noteHash = (store: FileStore, url: string, sha256: string): Promise<void> =>
  noteText(store, noteOf(url), sha256)

export async function notedHash(store: FileStore, url: string): Promise<KnownOfFile | undefined> {
  const file = await store.read(noteOf(url))
  return file && knownOf(new TextDecoder().decode(await file.slice(0, file.bytes)), undefined)
}

async function fromList(
  origin: string,
  [, repository, revision, path]: RegExpMatchArray,
  fetch: Fetch,
  signal: AbortSignal,
) {
  const folder = path!.includes('/') ? `/${path!.slice(0, path!.lastIndexOf('/'))}` : ''
  const response = await fetch(`${origin}/api/models${repository}/tree/${revision}${folder}`, { signal })
  const entries: unknown = response.ok ? await response.json() : undefined
  const entry = Array.isArray(entries)
    ? entries.find((each) => isRecord(each) && each.path === decodeURIComponent(path!))
    : undefined
  const { lfs } = isRecord(entry) ? entry : {}
  return isRecord(lfs) ? knownOf(lfs.oid, lfs.size) : undefined
}

function knownOf(hash: unknown, size: unknown): KnownOfFile | undefined {
  const sha256 = typeof hash === 'string' ? hash.replace(/^(W\/)?"(.*)"$/, '$2') : ''
  if (!SHA256.test(sha256)) return undefined
  const bytes = Number(size ?? Number.NaN)
  return { sha256: sha256.toLowerCase(), ...(Number.isSafeInteger(bytes) && { bytes }) }
}
