import type { LoadProgress } from '../../src/index.js'
import { controlled } from './control.js'
import { DeviceFetch } from './device-fetch.js'
import { HostWorker } from './host-worker.js'
import { KeptData } from './kept-data.js'
import { holdLock } from './locks.js'
import { type Broadcast, type FromPage, nameOf, pagesLock, unwrap, wrap } from './messages.js'
import { type Address, checkHost, register, type Script } from './registration.js'
import { findWebGpu, type WebGpuFinding } from './webgpu-state.js'

export interface InstallOptions {
  /** The address of the script that calls `serviceWorker(v1)`: `'/v1.js'`. */
  script: Address
  /**
   * The script of the worker that runs the engine, for an application whose service worker does more than can run in a
   * worker. It calls `serviceWorker(v1)` too.
   * @default the same script
   */
  worker?: Address
  /**
   * `classic` for scripts built as one file without `import` and `export`.
   * @default 'module'
   */
  type?: 'module' | 'classic'
  /**
   * The pages it is for, as a path. One wider than the script's own folder needs the header `Service-Worker-Allowed`.
   * @default the folder of the script
   */
  scope?: string
  /**
   * Hears how far models are loaded, whichever tab runs them.
   * @default nobody does
   */
  onProgress?: (progress: LoadProgress) => void
  /**
   * Take the place of another service worker that is registered for the same pages, at once. What that one did for them
   * is done no more; an application that needs both calls `serviceWorker` in its own script.
   * @default false: it is an error
   */
  replace?: boolean
  /**
   * Ask the browser, once a model of 32 MB or more was downloaded here, to keep the site's data also when the disk gets
   * full.
   * @default true
   */
  persist?: boolean
  /**
   * Gives up; after the installation it closes what was installed in this page.
   * @default none: it lasts as long as the page
   */
  signal?: AbortSignal
}

export interface Installed extends WebGpuFinding {
  readonly registration: ServiceWorkerRegistration
  /**
   * Whether the browser keeps the site's data when the disk gets full; else models may have to be downloaded again. It
   * is asked for after the first download of 32 MB or more; where the browser asks the user, once and not again on a
   * later visit.
   */
  readonly persisted: boolean
  /**
   * Asks the engine, in whichever tab it runs, by messages: never over the network, whatever becomes of the service
   * worker. Where the engine cannot be reached the answer is a 503 with the code `device_unreachable`.
   */
  readonly fetch: (input: RequestInfo | URL, init?: RequestInit) => Promise<Response>
  /** What the official client takes: `new OpenAI(device.client)`. */
  readonly client: ClientOptions
  /**
   * Ends this page's part: if its worker ran the engine, another tab takes over. The service worker stays; without any
   * tab that installed it, it answers by itself.
   */
  close(): void
}

export interface ClientOptions {
  /** Of the service on this device. */
  readonly baseURL: string
  /** One that means nothing: clients want some. */
  readonly apiKey: string
  /** Reaches the device, or fails; never the network. */
  readonly fetch: Installed['fetch']
  /** There is no key that a page could give away. */
  readonly dangerouslyAllowBrowser: true
}

/**
 * Makes `/v1` answer on this device for the page that calls it: registers the service worker, waits until it controls
 * the page, and starts the worker that runs the engine, one for all tabs.
 *
 * ```ts
 * const device = await install({ script: '/v1.js' })
 * const client = new OpenAI(device.client)
 * ```
 *
 * A plain `fetch('/v1/...')` works too, through the service worker; but once that is gone, with the site's data or for
 * another one, such a request goes to the web server. `device.fetch` never does.
 *
 * @throws V1Error whose `code` says what is wrong: `insecure_origin`, `service_worker_unsupported`,
 *   `service_worker_scope`, `service_worker_script`, `service_worker_foreign`, `service_worker_waiting`,
 *   `service_worker_uncontrolled`
 */
export async function install(options: InstallOptions): Promise<Installed> {
  const { type = 'module', scope, replace = false, signal = new AbortController().signal } = options
  signal.throwIfAborted()
  checkHost()
  const script: Script = { address: options.script, type, scope, replace }
  const finding = findWebGpu()
  const kept = new KeptData(options.persist ?? true)
  const registration = await register(script)
  await controlled(registration, script, signal)
  signal.throwIfAborted()
  const name = nameOf(registration.scope)
  const worker = new HostWorker(name, { address: options.worker ?? script.address, type }, registration, () =>
    part.close(),
  )
  const part = new PagePart(name, worker, registration, (progress) => {
    if (worker.host !== undefined) kept.follow(progress)
    options.onProgress?.(progress)
  })
  signal.addEventListener('abort', () => part.close(), { once: true })
  try {
    const basePath = await part.start(signal)
    await kept.look()
    const found = await finding
    signal.throwIfAborted()
    const { fetch } = part
    const client = {
      baseURL: location.origin + basePath,
      apiKey: 'none',
      fetch,
      dangerouslyAllowBrowser: true,
    } as const
    return {
      registration,
      get persisted() {
        return kept.persisted
      },
      ...found,
      fetch,
      client,
      close: () => part.close(),
    }
  } catch (error) {
    part.close()
    throw error
  }
}

/** What the page does for as long as it is open. */
class PagePart {
  readonly #worker: HostWorker
  readonly #registration: ServiceWorkerRegistration
  readonly #onProgress: (progress: LoadProgress) => void
  readonly #device: DeviceFetch
  readonly #channel: BroadcastChannel
  readonly #open = new AbortController()
  readonly #name: string
  #present = new AbortController()

  constructor(
    name: string,
    worker: HostWorker,
    registration: ServiceWorkerRegistration,
    onProgress: (progress: LoadProgress) => void,
  ) {
    this.#name = name
    this.#worker = worker
    this.#registration = registration
    this.#onProgress = onProgress
    this.#channel = new BroadcastChannel(name)
    const { signal: open } = this.#open
    const seek = (host: string) => this.#say({ type: 'awaited', host })
    this.#device = new DeviceFetch({ name, open, worker, registration, seek })
  }

  readonly fetch: Installed['fetch'] = (input, init) => this.#device.fetch(input, init)

  async start(signal: AbortSignal): Promise<string> {
    const { signal: open } = this.#open
    this.#channel.addEventListener('message', ({ data }) => this.#hear(unwrap<Broadcast>(data)), { signal: open })
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

  close(): void {
    this.#open.abort()
    this.#leave()
    this.#channel.close()
  }

  /** While a page is there the service worker waits for its worker, also when that has to be started anew. */
  #enter(): Promise<void> {
    this.#present = new AbortController()
    return holdLock(pagesLock(this.#name), this.#present.signal, 'shared')
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
    else if (message?.type === 'progress') this.#onProgress(message.progress)
    else if (message?.type === 'alive') this.#device.heard(message.host)
    else if (message?.type === 'awaited' && message.host === this.#worker.host) {
      this.#say({ type: 'alive', host: message.host })
    } else if (message?.type === 'ping') {
      this.#registration.active?.postMessage(wrap<FromPage>({ type: 'pong', host: this.#worker.host }))
    }
  }

  #say(message: Broadcast): void {
    this.#channel.postMessage(wrap(message))
  }
}
