import { V1Error } from '../../src/contract/errors.js'
import type { LoadProgress } from '../../src/index.js'
import { whenGone } from './locks.js'
import {
  type EngineWorker,
  type FromPage,
  type FromWorker,
  hostLock,
  type PageToWorker,
  unwrap,
  wrap,
} from './messages.js'
import { type Address, hasServiceWorkers } from './registration.js'

/** Longer than a script takes that is here. */
const READY_MS = 30_000
/** A script that is asked of a service worker which is just being replaced may never come: it is asked for once more. */
const AGAIN_MS = 8000
const SILENT = 'it did not answer: does it call serviceWorker(v1)?'

export interface WorkerScript {
  readonly address: Address
  readonly type: 'module' | 'classic'
}

export interface HostWorkerParts {
  readonly name: string
  readonly script: WorkerScript
  /** Undefined until there is a service worker, and where the page has its worker for itself. */
  registration(): ServiceWorkerRegistration | undefined
  /** It was to be started anew and could not be. */
  gaveUp(): void
  /** Of a worker that has nobody else to tell. */
  onProgress(progress: LoadProgress): void
}

/** A port to a host. */
export interface LinkedHost extends EngineWorker {
  readonly port: MessagePort
}

interface Start {
  readonly promise: Promise<string>
  resolve(basePath: string): void
  reject(error: V1Error): void
}

/** A page's end of its worker: starts it, brings it together with the service worker, starts it anew when it dies. */
export class HostWorker {
  readonly #parts: HostWorkerParts
  #worker: Worker | undefined
  #host: EngineWorker | undefined
  #life = new AbortController()
  #starting: Start | undefined

  constructor(parts: HostWorkerParts) {
    this.#parts = parts
  }

  /** The host, if this page's worker is it. */
  get host(): string | undefined {
    return this.#host?.host
  }

  /** The start that has not come to its end yet. */
  get starting(): Promise<string> | undefined {
    return this.#starting?.promise
  }

  /**
   * Settles once the worker stands in line to be the host, with the path that clients ask below. A page that was frozen
   * before that starts it anew, for whoever waits for the first.
   */
  start(): Promise<string> {
    this.#life = new AbortController()
    const { signal } = this.#life
    const { address } = this.#parts.script
    this.#starting ??= newStart()
    const { promise, resolve, reject } = this.#starting
    const begin = () => {
      this.#worker?.terminate()
      try {
        this.#worker = this.#begun(
          (basePath) => end(() => resolve(basePath)),
          (message) => end(() => reject(failed(String(address), message))),
        )
      } catch (cause) {
        end(() => reject(forbidden(String(address), cause)))
      }
    }
    const { href } = new URL(String(address), document.baseURI)
    // Where a policy forbids a worker, WebKit throws; in Chromium and Firefox its error says nothing.
    const hear = ({ blockedURI, disposition }: SecurityPolicyViolationEvent) => {
      if (blockedURI === href && disposition === 'enforce') end(() => reject(forbidden(String(address), undefined)))
    }
    document.addEventListener('securitypolicyviolation', hear)
    // A first visit asks nothing of one, and would lose what has come over a slow network.
    const again = hasServiceWorkers() && navigator.serviceWorker.controller ? setTimeout(begin, AGAIN_MS) : undefined
    let isOver = false
    const late = () => {
      if (!isOver) timer = setTimeout(() => end(() => reject(failed(String(address), SILENT))), READY_MS)
    }
    // Over a slow network the script itself takes longer: it is given time from when it is here.
    let timer = setTimeout(() => void whole(href).then(late, late), READY_MS)
    const rest = () => {
      isOver = true
      document.removeEventListener('securitypolicyviolation', hear)
      clearTimeout(again)
      clearTimeout(timer)
    }
    const end = (settle: () => void) => {
      rest()
      this.#starting = undefined
      settle()
    }
    signal.addEventListener('abort', rest, { once: true })
    begin()
    return promise
  }

  #begun(ready: (basePath: string) => void, broken: (message: string) => void): Worker {
    const { name, script } = this.#parts
    const worker = new Worker(script.address as string, { type: script.type, name })
    worker.onmessage = ({ data }) => {
      const message = unwrap<FromWorker>(data)
      if (message?.type === 'ready') ready(message.basePath)
      if (message?.type === 'host') this.#begin(message)
      if (message?.type === 'progress') this.#parts.onProgress(message.progress)
      if (message?.type === 'lost') this.restart()
    }
    // After its start an error is an uncaught one of the application's, which says so on the console.
    worker.onerror = ({ message }) => broken(message)
    return worker
  }

  /** A port to the engine, if this page's worker runs it. */
  way(): LinkedHost | undefined {
    if (!this.#worker || this.#host === undefined) return undefined
    const { port1, port2 } = new MessageChannel()
    this.#worker.postMessage(wrap<PageToWorker>({ type: 'link' }), [port1])
    return { ...this.#host, port: port2 }
  }

  /** Gives the service worker such a port. */
  link(): void {
    const active = this.#parts.registration()?.active
    const way = active && this.way()
    if (way) active.postMessage(wrap<FromPage>({ type: 'host', host: way.host }), [way.port])
  }

  /** The host was silent for too long. If it is here, this page wakes up only now. */
  takeOver(): void {
    if (this.#host !== undefined) this.restart()
    else this.#worker?.postMessage(wrap<PageToWorker>({ type: 'take-over' }))
  }

  stop(): void {
    this.#life.abort()
    this.#worker?.terminate()
    this.#worker = undefined
    this.#host = undefined
  }

  restart(): void {
    this.stop()
    this.start().catch((error: unknown) => {
      console.error('local-v1: this tab no longer runs models.', error)
      this.#parts.gaveUp()
    })
  }

  #begin(host: EngineWorker): void {
    this.#host = host
    this.link()
    // It may run out of memory, and then ends without a word.
    if (host.held) whenGone(hostLock(this.#parts.name, host.host), this.#life.signal, () => this.restart())
  }
}

/** Settles once the script has come, which need not be asked for anew. */
const whole = async (href: string) => (await fetch(href, { cache: 'force-cache' })).arrayBuffer()

function newStart(): Start {
  let ends!: Pick<Start, 'resolve' | 'reject'>
  const promise = new Promise<string>((resolve, reject) => {
    ends = { resolve, reject }
  })
  return { promise, ...ends }
}

function failed(url: string, message: string | undefined): V1Error {
  const why = message || 'it cannot be fetched, or imports something that cannot.'
  return new V1Error(500, `The worker ${url}, which runs the models, did not start: ${why}`, {
    code: 'service_worker_script',
  })
}

function forbidden(url: string, cause: unknown): V1Error {
  const message =
    `This page may not start the worker ${url}, which runs the models: a frame with the attribute sandbox needs ` +
    "allow-same-origin, and a Content-Security-Policy needs worker-src 'self'."
  return new V1Error(503, message, { code: 'service_worker_unsupported', cause })
}
