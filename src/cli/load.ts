import process from 'node:process'
import { createV1, type Log, logFaults, type V1 } from '../service/index.js'
import { type OpenedEngine, openEngine } from './engine.js'
import type { EngineOptions } from './engine-options.js'
import { Fault } from './fault.js'
import { progressReporter } from './terminal.js'

/** Loads a model, and shows how far it is; Ctrl-C ends it. */
export async function load(v1: V1, model: string): Promise<void> {
  const progress = progressReporter()
  const interrupt = new AbortController()
  const stop = () => interrupt.abort(new Fault('Stopped.', 130))
  process.once('SIGINT', stop)
  try {
    await v1.load(model, progress.report, interrupt.signal)
  } finally {
    process.off('SIGINT', stop)
    progress.stop()
  }
}

/** For who asks from a terminal, and ends with Ctrl-C what takes too long. */
export class OwnV1 {
  readonly v1: V1
  readonly model: string
  #loading: Promise<void> | undefined

  private constructor({ engine, models }: OpenedEngine) {
    this.model = models[0]!
    const endless = { loadWaitMs: Number.POSITIVE_INFINITY, timeoutMs: Number.POSITIVE_INFINITY }
    // A request that waited for a model fails as that does, which is told once.
    const log: Log = (event) =>
      void Promise.resolve(this.#loading)
        .then(() => logFaults(event))
        .catch(() => {})
    this.v1 = createV1({ engine, keys: 'none', ...endless, log })
  }

  static async open(options: EngineOptions, once = false): Promise<OwnV1> {
    return new OwnV1(await openEngine(options, once))
  }

  /** Begins to load the model, unless that has begun. */
  load(): Promise<void> {
    this.#loading ??= load(this.v1, this.model)
    return this.#loading
  }

  /** What is read while the model loads. If that cannot be, this is the error at once. */
  whileLoading<T>(reading: Promise<T>): Promise<T> {
    return Promise.race([reading, this.load().then(() => reading)])
  }

  /**
   * Loads the model for what it was asked, which is compiled meanwhile. Settles once it is there, or at once where what was
   * asked is refused before, since nobody waits for a download to be told so. If it cannot be loaded, that is the error.
   */
  loadFor(reply: Promise<unknown>): Promise<void> {
    return Promise.race([this.load(), new Promise<void>((refused) => reply.catch(() => refused()))])
  }
}
