import type { LoadProgress } from '../../src/index.js'
import { DeviceFetch } from './device-fetch.js'
import { HostWorker, type WorkerScript } from './host-worker.js'
import { holdLock } from './locks.js'
import { ALONE, type Broadcast, type FromPage, pagesLock, scopeName, unwrap, wrap } from './messages.js'

/** `isHere`: this page's own worker loads the model. */
type Hear = (progress: LoadProgress, isHere: boolean) => void

/** What the page does for as long as it is open. */
export class PagePart {
  readonly #name: string
  readonly #worker: HostWorker
  readonly #shared: boolean
  readonly #onProgress: Hear
  readonly #device: DeviceFetch
  readonly #channel: BroadcastChannel | undefined
  readonly #open = new AbortController()
  #present = new AbortController()
  #registration: ServiceWorkerRegistration | undefined

  /** Without the scope of a service worker the page has its worker for itself, and speaks with nobody else. */
  constructor(script: WorkerScript, scope: string | undefined, onProgress: Hear) {
    const name = scope === undefined ? ALONE : scopeName(scope)
    const registration = () => this.#registration
    this.#name = name
    this.#shared = scope !== undefined
    this.#onProgress = onProgress
    const worker = new HostWorker({
      ...{ name, script, registration },
      gaveUp: () => this.close(),
      onProgress: (progress) => onProgress(progress, true),
    })
    this.#worker = worker
    this.#channel = scope === undefined ? undefined : new BroadcastChannel(name)
    const { signal: open } = this.#open
    const seek = (host: string) => this.#say({ type: 'awaited', host })
    this.#device = new DeviceFetch({ name, open, worker, registration, seek })
  }

  readonly fetch: DeviceFetch['fetch'] = (input, init) => this.#device.fetch(input, init)

  /** The service worker is there, which the page's worker need not have waited for. */
  registered(registration: ServiceWorkerRegistration): void {
    this.#registration = registration
    this.#worker.link()
  }

  async start(signal: AbortSignal): Promise<string> {
    const { signal: open } = this.#open
    this.#channel?.addEventListener('message', ({ data }) => this.#hear(unwrap<Broadcast>(data)), { signal: open })
    // A page that is kept for the way back is frozen: another tab shall not wait for it.
    addEventListener('pagehide', () => this.#leave(), { signal: open })
    addEventListener('pageshow', ({ persisted }) => persisted && this.#comeBack(), { signal: open })
    await this.#enter()
    return Promise.race([
      this.#worker.start(),
      new Promise<never>((_, reject) => {
        open.addEventListener('abort', () => reject(signal.reason), { once: true })
      }),
    ])
  }

  /** `then` is called once, when this page's part ends. */
  whenClosed(then: () => void): void {
    this.#open.signal.addEventListener('abort', then, { once: true })
  }

  close(): void {
    this.#open.abort()
    this.#leave()
    this.#channel?.close()
  }

  /** While a page is there the service worker waits for its worker, also when that has to be started anew. */
  async #enter(): Promise<void> {
    this.#present = new AbortController()
    if (!this.#shared) return
    await holdLock(pagesLock(this.#name), this.#present.signal, 'shared')
  }

  #comeBack(): void {
    void this.#enter().then(() => this.#worker.restart())
  }

  #leave(): void {
    this.#present.abort()
    this.#device.leave()
    this.#worker.stop()
  }

  #hear(message: Broadcast | undefined): void {
    if (message?.type === 'seek') this.#worker.link()
    else if (message?.type === 'take-over') this.#worker.takeOver()
    else if (message?.type === 'progress') this.#onProgress(message.progress, this.#worker.host !== undefined)
    else if (message?.type === 'alive') this.#device.noteAlive(message.host)
    else if (message?.type === 'awaited' && message.host === this.#worker.host) {
      this.#say({ type: 'alive', host: message.host })
    } else if (message?.type === 'ping') {
      this.#registration?.active?.postMessage(wrap<FromPage>({ type: 'pong', host: this.#worker.host }))
    }
  }

  #say(message: Broadcast): void {
    this.#channel?.postMessage(wrap(message))
  }
}
