import type { ModelInfo } from '../../../engine.js'
import { V1Error } from '../../../errors.js'
import { builtin } from '../../../platform/builtin.js'
import { type Far, type MessageTarget, portOf, RemoteEngine } from '../../remote/index.js'
import { Catalog } from '../catalog.js'
import type { WebLlm } from '../here.js'
import type { WebLlmOptions } from '../options.js'
import type { FromWorker, SentOptions, ToWorker } from './messages.js'

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

/** A worker of a browser, of Node or of Deno. */
interface Thread extends MessageTarget {
  postMessage(message: unknown, transfer?: readonly MessagePort[]): void
  terminate(): unknown
  ref?(): void
  unref?(): void
  once?(event: 'error' | 'exit', listener: (value: unknown) => void): void
  onerror?: unknown
  readonly stdout?: { resume(): void } | null
}

type NodeWorkers = { Worker: new (url: URL, options: { stdout: boolean }) => Thread }

/** The engine in a worker of its own; `startThere` starts the one of the package where there are no threads of Node's. */
export function webllmInWorker(
  { worker, log, ...rest }: WebLlmWorkerOptions = {},
  startThere: () => Worker = noWorkers,
): WorkerWebLlm {
  const options = sendable(rest)
  let thread: Thread | undefined
  const engine = new RemoteEngine({
    models: listedAtFirst(rest),
    start() {
      thread = (worker?.() as Thread | undefined) ?? startThread() ?? (startThere() as unknown as Thread)
      return farOf(thread, options, log ?? ((message) => console.warn(message)))
    },
  })
  const connect = () => {
    if (thread === undefined) throw new V1Error(503, 'The worker has not started.', { code: 'engine_lost' })
    const { port1, port2 } = new MessageChannel()
    thread.postMessage({ type: 'connect', port: port2 } satisfies ToWorker, [port2])
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
function startThread(): Thread | undefined {
  const node = builtin<NodeWorkers>('node:worker_threads')
  if (!node) return undefined
  // What WebLLM prints is no output of the application.
  const thread = new node.Worker(new URL(SCRIPT, import.meta.url), { stdout: true })
  thread.stdout?.resume()
  return thread
}

function farOf(thread: Thread, options: SentOptions, log: (message: string) => void): Far {
  const gone = new Promise<unknown>((resolve) => {
    if (thread.once) {
      thread.once('error', resolve)
      thread.once('exit', (code) => resolve(new Error(`it ended with exit code ${String(code)}.`)))
    } else {
      // An error that nobody caught: whether it is still whole cannot be known.
      thread.onerror = (event: ErrorEvent) => resolve(event.error ?? new Error(event.message || 'it cannot be loaded.'))
    }
  })
  const port = portOf(thread)
  thread.postMessage({ type: 'open', options } satisfies ToWorker)
  return {
    gone,
    port: {
      post: port.post,
      listen: (listener) =>
        port.listen((message) => {
          if ((message as FromWorker | null)?.type === 'log') log((message as FromWorker).message)
          else listener(message)
        }),
      whenGone: () => {},
      // The thread itself is ended below.
      close: () => {},
    },
    hold: (hold) => (hold ? thread.ref?.() : thread.unref?.()),
    end: () => void thread.terminate(),
  }
}
