import type { V1 } from '../src/index.js'

/** The parts of `ServiceWorkerGlobalScope` used here: TypeScript's DOM library, which pages need, has not got it. */
interface WorkerScope {
  readonly location: { readonly origin: string }
  readonly clients: { claim(): Promise<void>; get(id: string): Promise<unknown> }
  addEventListener(type: 'activate', listener: (event: ExtendableEvent) => void): void
  addEventListener(type: 'fetch', listener: (event: FetchEvent) => void): void
}

interface ExtendableEvent {
  waitUntil(promise: Promise<unknown>): void
}

interface FetchEvent extends ExtendableEvent {
  readonly request: Request
  readonly clientId: string
  respondWith(response: Promise<Response>): void
}

export interface ServiceWorkerOptions {
  /**
   * Take over the pages that are open already, so that the first visit needs no reload.
   * @default true
   */
  claim?: boolean
}

/**
 * Answers the page's own requests under `v1`'s base path inside a service worker; every other request, and every
 * other origin, is left to the network. Call it while the worker's script first runs.
 *
 * Leaving a stream stops the engine, and so does closing the page. That a page has aborted a request whose answer has
 * not begun, browsers do not tell their service workers: such a request runs until its first word.
 */
export function serviceWorker(v1: V1, options: ServiceWorkerOptions = {}): void {
  const scope = globalThis as unknown as WorkerScope
  if (options.claim !== false) scope.addEventListener('activate', (event) => event.waitUntil(scope.clients.claim()))
  scope.addEventListener('fetch', (event) => {
    const { request } = event
    if (new URL(request.url).origin !== scope.location.origin || !v1.match(request)) return
    event.respondWith(answer(v1, event, scope))
  })
}

const LOOK_MS = 500

/** Looks now and then whether the page is still there, until the answer begins; after that its stream tells. */
async function answer(v1: V1, { request, clientId }: FetchEvent, { clients }: WorkerScope): Promise<Response> {
  const gone = new AbortController()
  const timer = setInterval(async () => {
    if ((await clients.get(clientId)) === undefined) gone.abort()
  }, LOOK_MS)
  try {
    return await v1.fetch(new Request(request, { signal: AbortSignal.any([request.signal, gone.signal]) }))
  } finally {
    clearInterval(timer)
  }
}
