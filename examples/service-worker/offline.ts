/** The parts of a service worker's events used here. */
interface InstallEvent extends Event {
  waitUntil(promise: Promise<unknown>): void
}
interface FetchEvent extends Event {
  readonly request: Request
  respondWith(response: Promise<Response>): void
}

/** Stores the application's files: takes them from the network if there is one, else from the cache. */
export function keepOffline(cache: string, files: readonly string[]): void {
  addEventListener('install', (event) => {
    const keep = caches.open(cache).then((kept) => kept.addAll(files))
    // With a full disk the application still works while there is a network.
    ;(event as InstallEvent).waitUntil(keep.catch((error) => console.warn('Not kept for offline use:', error)))
  })
  addEventListener('fetch', (event) => {
    const { request } = event as FetchEvent
    const { origin, pathname } = new URL(request.url)
    if (origin === location.origin && files.includes(pathname))
      (event as FetchEvent).respondWith(answer(cache, request))
  })
}

async function answer(cache: string, request: Request): Promise<Response> {
  try {
    const response = await fetch(request)
    if (response.ok) void keep(cache, request, response.clone())
    return response
  } catch (error) {
    const response = await caches.match(request, { cacheName: cache })
    if (response) return response
    throw error
  }
}

async function keep(cache: string, request: Request, response: Response): Promise<void> {
  try {
    await (await caches.open(cache)).put(request, response)
  } catch {
    // The disk is full: what was stored before stays.
  }
}
