import { type ModelInfo, V1Error } from '../../../contract/index.js'
import { builtin } from '../../../platform/index.js'
import { farThread, RemoteEngine, type WorkerThread } from '../../remote/index.js'
import { Catalog } from '../catalog.js'
import type { WebLlm } from '../here.js'
import type { WebLlmOptions } from '../options.js'
import type { Connect, SentOptions } from './messages.js'

export interface WebLlmWorkerOptions extends Omit<WebLlmOptions, 'loader'> {
  /**
   * Starts a worker of your own, whose script calls `serve()`.
   * @default a worker that comes with this package
   */
  readonly worker?: () => Worker
}

export interface WorkerWebLlm extends WebLlm {
  /**
   * Another line to the same engine, for a context that can start no workers, such as a service worker: transfer it there
   * and give it to `overPort`. A worker that has died since must be asked for a new one.
   */
  connect(): MessagePort
}

type NodeWorkers = { Worker: new (url: URL, options: { stdout: boolean }) => WorkerThread }

/** The engine in a worker of its own; `startThere` starts the one of the package where there are no threads of Node's. */
export function webllmInWorker(
  { worker, log, ...rest }: WebLlmWorkerOptions = {},
  startThere: () => Worker = noWorkers,
): WorkerWebLlm {
  const options = sendable(rest)
  let thread: WorkerThread | undefined
  const engine = new RemoteEngine({
    models: listedAtFirst(rest),
    start() {
      thread = (worker?.() as WorkerThread | undefined) ?? startThread() ?? (startThere() as unknown as WorkerThread)
      return farThread(thread, { options, log: log ?? ((message) => console.warn(message)) })
    },
  })
  const connect = () => {
    if (thread === undefined) throw new V1Error(503, 'The worker has not started.', { code: 'engine_lost' })
    const { port1, port2 } = new MessageChannel()
    thread.postMessage({ type: 'connect', port: port2 } satisfies Connect, [port2])
    return port1
  }
  return Object.assign(engine, { connect })
}

function sendable({ engineConfig, ...rest }: SentOptions): SentOptions {
  if (engineConfig?.initProgressCallback) {
    throw new TypeError('engineConfig.initProgressCallback cannot be called from a worker; `load` reports progress.')
  }
  return { ...rest, ...(engineConfig && { engineConfig }) }
}

function listedAtFirst(options: SentOptions): ModelInfo[] {
  const catalog = new Catalog(options, () => Promise.reject(new Error('not here')))
  const metadata = { engine: 'webllm', loaded: false }
  return catalog.listed.map(({ id }) => ({ id, ownedBy: id.slice(0, id.indexOf('/')), metadata }))
}

function noWorkers(): never {
  throw new Error('there are no worker threads here.')
}

/** Named apart from `new URL`: bundlers for browsers, which would take it for theirs, have no use for it. */
const SCRIPT = './webllm-worker.js'

/** In Node and Deno. */
function startThread(): WorkerThread | undefined {
  const node = builtin<NodeWorkers>('node:worker_threads')
  if (!node) return undefined
  // What WebLLM prints is no output of the application.
  const thread = new node.Worker(new URL(SCRIPT, import.meta.url), { stdout: true })
  thread.stdout?.resume()
  return thread
}
