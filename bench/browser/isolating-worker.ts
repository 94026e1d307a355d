/** The service worker of `isolate`: every answer of this origin with the headers of an isolated page. */
interface FetchEvent extends Event {
  readonly request: Request
  respondWith(response: Promise<Response>): void
}
interface Scope {
  skipWaiting(): Promise<void>
  readonly clients: { claim(): Promise<void> }
}
const scope = globalThis as unknown as Scope

addEventListener('install', () => void scope.skipWaiting())
addEventListener('activate', () => void scope.clients.claim())
addEventListener('fetch', (event) => {
  const { request, respondWith } = event as FetchEvent
  if (new URL(request.url).origin === location.origin) respondWith.call(event, isolated(request))
})

async function isolated(request: Request): Promise<Response> {
  const response = await fetch(request)
  if (response.status === 0) return response
  const headers = new Headers(response.headers)
  headers.set('cross-origin-opener-policy', 'same-origin')
  headers.set('cross-origin-embedder-policy', 'require-corp')
  return new Response(response.body, { status: response.status, statusText: response.statusText, headers })
}

export {}
