import { V1Error } from '../../src/contract/errors.js'
import type { LoadProgress } from '../../src/index.js'
import { controlled } from './control.js'
import { KeptData } from './kept-data.js'
import { guardFetch } from './page-fetch.js'
import { PagePart } from './page-part.js'
import {
  type Address,
  checkHost,
  checkScope,
  hasServiceWorkers,
  refused,
  register,
  type ServiceWorkerScript,
} from './registration.js'
import { findWebGpu, type WebGpuFinding } from './webgpu-state.js'

export interface InstallOptions {
  /** The address of the script that calls `serviceWorker(v1)`: `'/v1.js'`. */
  script: Address
  /**
   * The script of the worker that runs the engine, if your service worker's script cannot run as a worker too. It calls
   * `serviceWorker(v1)` as well.
   * @default the same script
   */
  worker?: Address
  /**
   * `classic` for scripts built as one file without `import` and `export`.
   * @default 'module'
   */
  type?: 'module' | 'classic'
  /**
   * The pages that it is for, as a path. If that is not below the script's folder, the script needs the header
   * `Service-Worker-Allowed`.
   * @default the folder of the script
   */
  scope?: string
  /**
   * Called with the progress of loading models, whichever tab runs them.
   * @default none
   */
  onProgress?: (progress: LoadProgress) => void
  /**
   * Replaces another service worker that is registered for the same pages, at once. That one stops working for them; if
   * your application needs both, call `serviceWorker` in its own script.
   * @default false: another service worker is an error
   */
  replace?: boolean
  /**
   * After a model of 32 MB or more was downloaded here, asks the browser to keep the site's data even when the disk is
   * full.
   * @default true
   */
  persist?: boolean
  /**
   * Stops the installation; after it, closes this page's connection.
   * @default none: it is open as long as the page
   */
  signal?: AbortSignal
}

export interface Installed extends WebGpuFinding {
  /** Undefined if the browser allows no service worker: see `limits`. */
  readonly registration: ServiceWorkerRegistration | undefined
  /**
   * If the browser allows no service worker (in a frame of another site, a private window, or with blocked storage): what
   * does not work, in a sentence for the user. The page's own worker then answers, only by `fetch` and `client`.
   */
  readonly limits: string | undefined
  /**
   * Whether the browser keeps the site's data even when the disk is full; if not, models may have to be downloaded again.
   * The browser is asked after the first download of 32 MB or more. If it asks the user, it does so once, and not again on
   * a later visit.
   */
  readonly persisted: boolean
  /**
   * Sends a request to the engine, in whichever tab it runs, by messages: never over the network, whatever happens to the
   * service worker. If the engine cannot be reached, the answer is a 503 with the code `device_unreachable`.
   */
  readonly fetch: (input: RequestInfo | URL, init?: RequestInit) => Promise<Response>
  /** Options for the official client: `new OpenAI(device.client)`. */
  readonly client: ClientOptions
  /**
   * Closes this page's connection: if its worker ran the engine, another tab takes over. The service worker stays; if no
   * tab is connected, it runs the engine itself.
   */
  close(): void
}

export interface ClientOptions {
  /** The address of the service on this device. */
  readonly baseURL: string
  /** Not a real key, but clients require one. */
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
 * A plain `fetch('/v1/...')` works too, through the service worker. If the browser stops it, answers that had not begun
 * continue by messages, and a stream ends in an error event with the code `service_worker_stopped`. If the site's data is
 * cleared or another service worker takes over, such a request goes to the web server. `device.fetch` never does.
 *
 * If the browser allows no service worker, the page's own worker answers, only by `device.fetch` and `device.client`, and
 * `device.limits` says what does not work.
 *
 * @throws V1Error whose `code` says what is wrong: `insecure_origin`, `service_worker_unsupported`,
 *   `service_worker_scope`, `service_worker_script`, `service_worker_foreign`, `service_worker_waiting`,
 *   `service_worker_uncontrolled`
 */
export async function install(options: InstallOptions): Promise<Installed> {
  const { signal = new AbortController().signal } = options
  signal.throwIfAborted()
  checkHost()
  const finding = findWebGpu()
  const kept = new KeptData(options.persist ?? true)
  const { script, worker = script, type = 'module' } = options
  const newPart = (scope: string | undefined) => {
    const part = new PagePart({ address: worker, type }, scope, (progress, isHere) => {
      if (isHere) kept.follow(progress)
      options.onProgress?.(progress)
    })
    signal.addEventListener('abort', () => part.close(), { once: true })
    return part
  }
  const { part, registration, basePath } = await started(options, newPart, signal)
  try {
    await kept.look()
    const found = await finding
    signal.throwIfAborted()
    const { fetch } = part
    if (registration) part.whenClosed(guardFetch(basePath, fetch))
    const client = {
      baseURL: location.origin + basePath,
      apiKey: 'none',
      fetch,
      dangerouslyAllowBrowser: true,
    } as const
    return {
      registration,
      limits: registration ? undefined : LIMITS,
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

interface Started {
  readonly part: PagePart
  /** Of the service worker that controls the page; undefined where the browser allows none. */
  readonly registration: ServiceWorkerRegistration | undefined
  readonly basePath: string
}

/** What is the application's fault is thrown; where a browser allows less, the page has its worker for itself. */
async function started(
  { type = 'module', replace = false, script: address, worker = address, scope }: InstallOptions,
  newPart: (scope: string | undefined) => PagePart,
  signal: AbortSignal,
): Promise<Started> {
  const script: ServiceWorkerScript = { address, type, scope, replace }
  let part: PagePart | undefined
  try {
    if (!hasServiceWorkers()) throw refused(undefined)
    const reach = checkScope(String(address), scope)
    part = newPart(reach)
    // By way of one that is being replaced no script is asked for: it need not answer, and is not gone before it has.
    const replacing = replace && navigator.serviceWorker.controller !== null
    // One script for both is fetched once. A script of its own the worker need not wait for.
    const early = replacing || String(worker) === String(address) ? undefined : part.start(signal)
    // Of two that fail, the service worker's fault is told.
    early?.catch(() => {})
    const registration = await register(script, reach)
    signal.throwIfAborted()
    part.registered(registration)
    const control = controlled(registration, script, signal)
    // Otherwise the worker starts while the service worker is being installed.
    const starting = early ?? (replacing ? control.then(() => part!.start(signal)) : part.start(signal))
    // Some browsers have the one in a frame and refuse the other.
    const [basePath] = await Promise.all([starting, control, navigator.locks.query()])
    return { part, registration, basePath }
  } catch (error) {
    part?.close()
    signal.throwIfAborted()
    if (V1Error.is(error) && error.code !== 'service_worker_unsupported') throw error
  }
  const alone = newPart(undefined)
  try {
    return { part: alone, registration: undefined, basePath: await alone.start(signal) }
  } catch (error) {
    alone.close()
    throw error
  }
}

const LIMITS =
  'This browser allows no service worker here, so the model runs in this page only: it does not work offline, and other ' +
  'tabs load the model again.'
