import process from 'node:process'
import { createV1, type Log, logFaults, type V1 } from '../service/index.js'
import { type OpenedEngine, openEngine } from './engine.js'
import type { EngineOptions } from './engine-options.js'
import { progressReporter } from './terminal.js'

/** Loads a model, and shows how far it is; Ctrl-C ends it. */
export async function load(v1: V1, model: string): Promise<void> {
  const progress = progressReporter()
  const interrupt = new AbortController()
  const stop = () => interrupt.abort()
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
  #loaded: Promise<void> = Promise.resolve()

  private constructor({ engine, models }: OpenedEngine) {
    this.model = models[0]!
    const endless = { loadWaitMs: Number.POSITIVE_INFINITY, timeoutMs: Number.POSITIVE_INFINITY }
    // A request that waited for a model fails as that does, which is told once.
    const log: Log = (event) => void this.#loaded.then(() => logFaults(event)).catch(() => {})
    this.v1 = createV1({ engine, keys: 'none', ...endless, log })
  }

  static async open(options: EngineOptions, once = false): Promise<OwnV1> {
    return new OwnV1(await openEngine(options, once))
  }

  load(): Promise<void> {
    this.#loaded = load(this.v1, this.model)
    return this.#loaded
  }

  /**
   * Loads the model for what it was asked, which is compiled meanwhile. Settles once it is there, or at once where what was
   * asked is refused before, since nobody waits for a download to be told so. If it cannot be loaded, that is the error.
   */
  loadFor(reply: Promise<unknown>): Promise<void> {
    return Promise.race([this.load(), new Promise<void>((refused) => reply.catch(() => refused()))])
  }
}
