import type { LoadProgress } from '../../src/index.js'
import { HostWorker } from './host-worker.js'
import { holdLock } from './locks.js'
import { type Broadcast, type FromPage, nameOf, pagesLock, unwrap, wrap } from './messages.js'
import { type Address, checkHost, controlled, register, type Script } from './registration.js'
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
   * Ask the browser to keep the site's data, downloaded models among it, also when the disk gets full.
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
   * Whether the browser keeps the site's data when the disk gets full; else models may have to be downloaded again.
   * Some browsers ask the user: until that is answered it is `false`.
   */
  readonly persisted: boolean
  /**
   * Ends this page's part: if its worker ran the engine, another tab takes over. The service worker stays; without any
   * tab that installed it, it answers by itself.
   */
  close(): void
}

/**
 * Makes `/v1` answer on this device for the page that calls it: registers the service worker, waits until it controls
 * the page, and starts the worker that runs the engine, one for all tabs.
 *
 * ```ts
 * const device = await install({ script: '/v1.js' })
 * const client = new OpenAI({ baseURL: `${location.origin}/v1`, apiKey: 'none', dangerouslyAllowBrowser: true })
 * ```
 *
 * @throws V1Error whose `code` says what is wrong: `insecure_origin`, `service_worker_unsupported`,
 *   `service_worker_scope`, `service_worker_script`, `service_worker_uncontrolled`
 */
export async function install(options: InstallOptions): Promise<Installed> {
  const { type = 'module', scope, persist = true, signal = new AbortController().signal } = options
  signal.throwIfAborted()
  checkHost()
  const script: Script = { address: options.script, type, scope }
  const finding = findWebGpu()
  const kept = keepData(persist)
  const registration = await register(script)
  await controlled(registration, signal)
  signal.throwIfAborted()
  const name = nameOf(registration.scope)
  const worker = new HostWorker(name, { address: options.worker ?? script.address, type }, registration, () =>
    part.close(),
  )
  const part = new PagePart(name, worker, registration, options.onProgress)
  signal.addEventListener('abort', () => part.close(), { once: true })
  try {
    await part.start(signal)
    const persisted = await Promise.race([kept, soon(false)])
    const found = await finding
    signal.throwIfAborted()
    return { registration, persisted, ...found, close: () => part.close() }
  } catch (error) {
    part.close()
    throw error
  }
}

/** What the page does for as long as it is open. */
class PagePart {
  readonly #worker: HostWorker
  readonly #registration: ServiceWorkerRegistration
  readonly #onProgress: ((progress: LoadProgress) => void) | undefined
  readonly #channel: BroadcastChannel
  readonly #open = new AbortController()
  readonly #name: string
  #present = new AbortController()

  constructor(
    name: string,
    worker: HostWorker,
    registration: ServiceWorkerRegistration,
    onProgress: InstallOptions['onProgress'],
  ) {
    this.#name = name
    this.#worker = worker
    this.#registration = registration
    this.#onProgress = onProgress
    this.#channel = new BroadcastChannel(name)
  }

  async start(signal: AbortSignal): Promise<void> {
    const { signal: open } = this.#open
    this.#channel.addEventListener('message', ({ data }) => this.#hear(unwrap<Broadcast>(data)), { signal: open })
    // A page that is kept for the way back is frozen: another tab shall not wait for it.
    addEventListener('pagehide', () => this.#leave(), { signal: open })
    addEventListener('pageshow', ({ persisted }) => persisted && this.#comeBack(), { signal: open })
    await this.#enter()
    await Promise.race([
      this.#worker.start(),
      new Promise((_, reject) => {
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
    this.#worker.stop()
  }

  #hear(message: Broadcast | undefined): void {
    if (message?.type === 'seek') this.#worker.link()
    else if (message?.type === 'take-over') this.#worker.takeOver()
    else if (message?.type === 'progress') this.#onProgress?.(message.progress)
    else if (message?.type === 'ping') {
      this.#registration.active?.postMessage(wrap<FromPage>({ type: 'pong', host: this.#worker.host }))
    }
  }
}

async function keepData(ask: boolean): Promise<boolean> {
  try {
    return ask ? await navigator.storage.persist() : await navigator.storage.persisted()
  } catch {
    return false
  }
}

/** `value`, after the time that an answer without a question to the user takes. */
const soon = <Value>(value: Value): Promise<Value> => new Promise((resolve) => setTimeout(resolve, 500, value))
