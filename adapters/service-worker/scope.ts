/** The parts of `ServiceWorkerGlobalScope` used here: TypeScript's DOM library, which pages need, has not got it. */
export interface WorkerScope {
  readonly location: { readonly origin: string }
  readonly registration: { readonly scope: string }
  skipWaiting(): Promise<void>
  readonly clients: { claim(): Promise<void>; get(id: string): Promise<unknown> }
  addEventListener(type: 'activate', listener: (event: ExtendableEvent) => void): void
  addEventListener(type: 'fetch', listener: (event: FetchEvent) => void): void
  addEventListener(type: 'message', listener: (event: ExtendableMessageEvent) => void): void
}

export interface ExtendableEvent {
  waitUntil(promise: Promise<unknown>): void
}

export interface ExtendableMessageEvent extends ExtendableEvent {
  readonly data: unknown
  readonly ports: readonly MessagePort[]
}

export interface FetchEvent extends ExtendableEvent {
  readonly request: Request
  readonly clientId: string
  respondWith(response: Promise<Response>): void
}

/** The parts of `DedicatedWorkerGlobalScope` used here. */
export interface HostScope {
  readonly name: string
  postMessage(message: unknown): void
  addEventListener(type: 'message', listener: (event: MessageEvent) => void): void
}

const made = (name: string): boolean => {
  const type = (globalThis as Record<string, unknown>)[name]
  return typeof type === 'function' && globalThis instanceof type
}

/** The scope that this script runs in, if it is a service worker's. */
export function serviceWorkerScope(): WorkerScope | undefined {
  return made('ServiceWorkerGlobalScope') ? (globalThis as unknown as WorkerScope) : undefined
}

/** The scope that this script runs in, if it is that of a page's worker. */
export function hostScope(): HostScope | undefined {
  return made('DedicatedWorkerGlobalScope') ? (globalThis as unknown as HostScope) : undefined
}
