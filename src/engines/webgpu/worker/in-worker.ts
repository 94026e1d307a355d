import type { ModelInfo } from '../../../contract/index.js'
import { idOf } from '../../../models/index.js'
import { getOrMake } from '../../../platform/index.js'
import { type Far, farThread, portPair, RemoteEngine, serveEngine, type WorkerThread } from '../../remote/index.js'
import { type WebGpu, WebGpuEngine } from '../engine.js'
import { webgpuHere } from '../here.js'
import type { ModelOptions, WebGpuOptions } from '../options.js'
import type { Surroundings } from '../surroundings.js'
import { packed, type ToWorker, unpacked, type WorkerOptions } from './messages.js'

/** The engine in a worker that `start` starts, once something is asked of it. `standsMs` is for tests. */
export function webgpuInWorker(options: WebGpuOptions, start: () => WorkerThread, standsMs?: number): WebGpu {
  return new WebGpuInWorker(new Place(options, start), standsMs)
}

/** What only lists what is offered opens nothing. */
const NOWHERE: Surroundings = {
  openDevice: () => Promise.reject(new Error('not here')),
  openRepository: () => Promise.reject(new Error('not here')),
}

/** Where the engine is, and what it was told to offer: a worker that is begun anew is told again. */
class Place {
  readonly catalog: WebGpuEngine
  readonly log: (message: string) => void
  readonly #options: WebGpuOptions
  readonly #startThread: () => WorkerThread
  readonly #offered: Map<string, ModelOptions>
  /** Shown with each model. */
  metadata: NonNullable<ModelInfo['metadata']> = { worker: true }
  /** To the one that runs, if any. */
  tell: (message: ToWorker) => void = () => {}

  constructor(options: WebGpuOptions, startThread: () => WorkerThread) {
    // What is wrong with the options is told here, and at once.
    this.catalog = new WebGpuEngine(options, NOWHERE)
    this.log = options.log ?? console.info
    this.#options = options
    this.#startThread = startThread
    this.#offered = new Map(options.models.map(withId).map((model) => [model.id, model]))
  }

  offer(wanted: string | ModelOptions): ModelInfo {
    const info = this.catalog.offer(wanted)
    if (!this.#offered.has(info.id)) {
      const model = withId(wanted)
      this.tell({ type: 'offer', model: packed(model) })
      this.#offered.set(info.id, model)
    }
    return info
  }

  async withdraw(id: string): Promise<void> {
    await this.catalog.withdraw(id)
    this.#offered.delete(id)
    this.tell({ type: 'withdraw', model: id })
  }

  inWorker(): Far {
    const { models: _, worker: __, log: ___, ...rest } = this.#options
    const thread = this.#startThread()
    const options: WorkerOptions = { ...rest, models: [...this.#offered.values()].map(packed) }
    this.tell = (message) => thread.postMessage(message)
    return farThread(thread, { options, log: this.log, watched: true })
  }

  here(cause: unknown): Far {
    const reason = `no worker can be started: ${cause instanceof Error ? cause.message : String(cause)}`
    this.log(`local-v1 computes in the thread of the application, because ${reason}`)
    this.metadata = { worker: false, worker_reason: reason }
    const engine = webgpuHere({ ...this.#options, models: [...this.#offered.values()] })
    this.tell = (message) => {
      if (message.type === 'offer') engine.offer(unpacked(message.model))
      else void engine.withdraw(message.model)
    }
    const [port, inside] = portPair()
    serveEngine(engine, inside)
    return { port, gone: new Promise(() => {}), end: () => {} }
  }
}

const withId = (model: string | ModelOptions): ModelOptions =>
  typeof model === 'string' ? { id: idOf(model), from: model } : model

class WebGpuInWorker extends RemoteEngine implements WebGpu {
  readonly #place: Place
  /** What is told of each, by what the worker tells. */
  readonly #shown = new WeakMap<ModelInfo, ModelInfo>()

  constructor(place: Place, standsMs: number | undefined) {
    super({
      start: () => place.inWorker(),
      instead: (cause) => place.here(cause),
      models: place.catalog.models,
      lazily: true,
      log: place.log,
      ...(standsMs !== undefined && { standsMs }),
    })
    this.#place = place
  }

  override get models(): readonly ModelInfo[] {
    const reported = new Map(super.models.map((model) => [model.id, model]))
    return this.#place.catalog.models.map((listed) => {
      const model = reported.get(listed.id) ?? listed
      return getOrMake(this.#shown, model, () => this.#show(model))
    })
  }

  #show(model: ModelInfo): ModelInfo {
    const place = this.#place
    return Object.defineProperty({ ...model }, 'metadata', {
      enumerable: true,
      get: () => ({ ...model.metadata, ...place.metadata }),
    })
  }

  offer(model: string | ModelOptions): ModelInfo {
    return this.#place.offer(model)
  }

  async withdraw(id: string): Promise<void> {
    // Of one that is not offered, nothing is unloaded. It is off the list at once, however long that takes.
    const unloaded = this.unload(id).catch(() => {})
    await this.#place.withdraw(id)
    await unloaded
  }
}
