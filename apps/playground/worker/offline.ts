/** The page itself from a cache, so that a reload needs no network. */

/** Put in by the build: the files of this version, by path, relative to this script. */
declare const __PLAYGROUND__: { readonly version: string; readonly files: readonly string[] }

/** The parts of `ServiceWorkerGlobalScope` used here; TypeScript's DOM library has not got it. */
interface Scope {
  readonly location: { readonly href: string }
  skipWaiting(): Promise<void>
  addEventListener(type: 'install' | 'activate', listener: (event: Waiting) => void): void
  addEventListener(type: 'fetch', listener: (event: Fetching) => void): void
}

interface Waiting {
  waitUntil(promise: Promise<unknown>): void
}

interface Fetching {
  readonly request: Request
  respondWith(response: Promise<Response>): void
}

const PREFIX = 'playground '

/** In the page: whether it comes from here without a network. */
export async function isKeptOffline(): Promise<boolean> {
  try {
    return (await caches.keys()).some((name) => name.startsWith(PREFIX))
  } catch {
    return false
  }
}

/** In a service worker: keeps this version's files and answers for them. In any other worker it does nothing. */
export function servePagesOffline(): void {
  if (!('ServiceWorkerGlobalScope' in globalThis)) return
  const scope = globalThis as unknown as Scope
  const { version, files } = __PLAYGROUND__
  const name = PREFIX + version
  const at = (file: string) => new URL(file, scope.location.href).href
  const kept = new Map(files.map((file) => [at(file), at(file)]))
  // Not asked for by itself: a host of plain files need not have a page for a folder.
  kept.set(at('./'), at('index.html'))

  scope.addEventListener('install', (event) => {
    event.waitUntil(keep(name, [...new Set(kept.values())]).then(() => scope.skipWaiting()))
  })
  scope.addEventListener('activate', (event) => event.waitUntil(dropOthers(name)))
  scope.addEventListener('fetch', (event) => {
    const { request } = event
    const url = new URL(request.url)
    url.search = ''
    url.hash = ''
    const file = kept.get(url.href)
    if (request.method !== 'GET' || file === undefined) return
    const answer = caches.match(file, { cacheName: name }).then(
      (kept) => kept ?? fetch(request),
      () => fetch(request),
    )
    event.respondWith(answer.then(isolated))
  })
}

/** Hosts of plain files send no headers: from here they isolate the page, which lets the CPU device use threads. */
function isolated(answer: Response): Response {
  const headers = new Headers(answer.headers)
  headers.set('cross-origin-opener-policy', 'same-origin')
  headers.set('cross-origin-embedder-policy', 'require-corp')
  headers.set('cross-origin-resource-policy', 'same-origin')
  return new Response(answer.body, { status: answer.status, statusText: answer.statusText, headers })
}

async function keep(name: string, urls: readonly string[]): Promise<void> {
  const cache = await caches.open(name)
  try {
    // Past the browser's own cache, which may hold files of the version before.
    await cache.addAll(urls.map((url) => new Request(url, { cache: 'reload' })))
  } catch (error) {
    await caches.delete(name)
    // Without room for the page it still answers, with a network.
    if ((error as { name?: unknown }).name !== 'QuotaExceededError') throw error
  }
}

async function dropOthers(name: string): Promise<void> {
  for (const each of await caches.keys()) if (each.startsWith(PREFIX) && each !== name) await caches.delete(each)
}
