/** The page itself from a cache, so that a reload needs no network. */

/** Put in by the build: the files of this version, by path, relative to this script. */
declare const __PLAYGROUND__: { readonly version: string; readonly files: readonly string[] }

/** The parts of `ServiceWorkerGlobalScope` used here; TypeScript's DOM library has not got it. */
interface Scope {
  readonly location: { readonly href: string }
  skipWaiting(): Promise<void>
  addEventListener(type: 'install' | 'activate', listener: (event: Waiting) => void): void
  addEventListener(type: 'fetch', listener: (event: Fetching) => void): void
  addEventListener(type: 'message', listener: (event: Told) => void): void
}

interface Waiting {
  waitUntil(promise: Promise<unknown>): void
}

interface Told extends Waiting {
  readonly data: unknown
  readonly ports: readonly MessagePort[]
}

interface Fetching {
  readonly request: Request
  respondWith(response: Promise<Response>): void
}

const PREFIX = 'playground '
/** What a page says that has nothing better to do. */
const KEEP = 'keep the page'

/**
 * In the page: whether it comes from here without a network, from now on. A first visit has it kept once it was answered:
 * files that are written meanwhile, and compiled with that, would be time that somebody waits.
 */
export async function keptOffline(): Promise<boolean> {
  try {
    if (await isKept()) return true
    const { active } = await navigator.serviceWorker.ready
    const { port1, port2 } = new MessageChannel()
    const settled = new Promise((resolve) => {
      port1.onmessage = resolve
    })
    active!.postMessage(KEEP, [port2])
    await settled
    port1.close()
    return await isKept()
  } catch {
    return false
  }
}

const isKept = async () => (await caches.keys()).some((name) => name.startsWith(PREFIX))

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

  const keepAll = () => keep(name, [...new Set(kept.values())])
  // A version that takes another's place has its files first: the old ones go with it.
  const install = async () => {
    if (await isKept()) await keepAll()
    await scope.skipWaiting()
  }
  scope.addEventListener('install', (event) => event.waitUntil(install()))
  scope.addEventListener('message', (event) => {
    if (event.data !== KEEP) return
    const tell = () => event.ports[0]?.postMessage(undefined)
    event.waitUntil(keepAll().then(tell, tell))
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
