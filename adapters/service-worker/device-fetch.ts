import { V1Error } from '../../src/contract/errors.js'
import { HostLink } from './host-link.js'
import { passedRequest, sendToHost } from './host-request.js'
import type { HostWorker, LinkedHost } from './host-worker.js'
import { isOfOurs } from './identity.js'
import { type FromPage, type Introduction, wrap } from './messages.js'

/** Longer than a service worker looks for a host, and for another one in the place of a frozen one. */
const INTRODUCTION_MS = 60_000
const PING_MS = 5000

export interface DeviceFetchParts {
  readonly name: string
  /** Ends with the page's part. */
  readonly open: AbortSignal
  readonly worker: HostWorker
  /** Undefined until there is a service worker, and where the page has its worker for itself. */
  registration(): ServiceWorkerRegistration | undefined
  /** Asks the page that has this host whether it is there; it answers by `noteAlive`. */
  seek(host: string): void
}

/**
 * A page's own way to the worker that runs the engine: by messages alone. Whatever becomes of the service worker, there
 * is no way from here to the network.
 */
export class DeviceFetch {
  readonly #parts: DeviceFetchParts
  #link: HostLink | undefined
  #finding: Promise<HostLink | undefined> | undefined
  /** While anyone waits: a page at rest is not woken. */
  #pings: ReturnType<typeof setInterval> | undefined

  constructor(parts: DeviceFetchParts) {
    this.#parts = parts
    parts.open.addEventListener('abort', () => this.leave())
  }

  async fetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
    const request = new Request(input, init)
    const { signal } = request
    if (new URL(request.url).origin !== location.origin) return failed(elsewhere(request.url))
    const ways = { find: () => this.#find(), without: () => failed(this.#unreachable()) }
    const response = await sendToHost(ways, await passedRequest(request), signal)
    signal.throwIfAborted()
    const { body, status, headers } = response
    // As with any other fetch, the signal ends the body too.
    return body ? new Response(body.pipeThrough(new TransformStream(), { signal }), { status, headers }) : response
  }

  noteAlive(host: string): void {
    if (this.#link?.host === host) this.#link.noteAlive()
  }

  /** Its answers end; the next request looks for the host anew. */
  leave(): void {
    this.#link?.lose()
  }

  async #find(): Promise<HostLink | undefined> {
    if (this.#parts.open.aborted) return undefined
    this.#pings ??= setInterval(() => this.#ping(), PING_MS)
    if (this.#link?.open) return this.#link
    this.#finding ??= this.#open().finally(() => {
      this.#finding = undefined
    })
    return this.#finding
  }

  async #open(): Promise<HostLink | undefined> {
    const { name, worker } = this.#parts
    const way = worker.way() ?? (await this.#introduced()) ?? (await this.#started())
    if (way) this.#link = await HostLink.open(name, way, way.port)
    return this.#link?.open ? this.#link : undefined
  }

  /** The host of another tab, to which the service worker knows the way: no other worker is asked for it. */
  async #introduced(): Promise<LinkedHost | undefined> {
    const active = this.#parts.registration()?.active
    if (!active || !(await isOfOurs(active))) return undefined
    const { port1, port2 } = new MessageChannel()
    let timer: ReturnType<typeof setTimeout> | undefined
    try {
      return await new Promise((resolve) => {
        timer = setTimeout(resolve, INTRODUCTION_MS, undefined)
        port1.onmessage = ({ data, ports: [port] }: MessageEvent<Introduction>) => {
          resolve(port && data.host !== undefined ? { host: data.host, held: true, port } : undefined)
        }
        active.postMessage(wrap<FromPage>({ type: 'guest' }), [port2])
      })
    } finally {
      clearTimeout(timer)
      port1.close()
    }
  }

  /** This page's own worker, where it is just being started anew and there is no other. */
  async #started(): Promise<LinkedHost | undefined> {
    const { open, worker } = this.#parts
    const closed = new Promise((resolve) => open.addEventListener('abort', resolve, { once: true }))
    await Promise.race([worker.starting, closed]).catch(() => {})
    return worker.way()
  }

  #ping(): void {
    const { worker } = this.#parts
    const link = this.#link
    if (!this.#finding && !link?.busy) {
      clearInterval(this.#pings)
      this.#pings = undefined
    }
    // A worker of this page's own cannot be frozen while this page is not.
    if (!link?.busy || link.host === worker.host) return
    if (link.ping() === 'silent') link.lose()
    else this.#parts.seek(link.host)
  }

  #unreachable(): V1Error {
    const message = this.#parts.open.aborted
      ? 'This page has closed its connection to local-v1: call install() again.'
      : "The worker that runs the models cannot be reached: perhaps the site's data was cleared, or another service worker has taken over. Reload the page. Nothing was sent."
    return new V1Error(503, message, { code: 'device_unreachable' })
  }
}

function elsewhere(url: string): V1Error {
  const message = `'${url}' is not on this device: this fetch only reaches ${location.origin}, and never the network.`
  return new V1Error(400, message, { code: 'not_on_device' })
}

const failed = (error: V1Error): Response =>
  Response.json(error, { status: error.status, headers: { 'x-should-retry': 'false' } })
