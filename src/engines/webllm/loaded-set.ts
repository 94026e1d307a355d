import type { LoadProgress } from '../../engine.js'
import { V1Error } from '../../errors.js'
import { deviceLost } from './forward-model.js'
import { memoryOf } from './gpu-probe.js'
import type { LoadedModel } from './load.js'
import type { Report } from './progress.js'
import type { Offered } from './records.js'

interface Loading {
  readonly done: Promise<LoadedModel>
  readonly aborter: AbortController
  readonly listeners: Set<(progress: LoadProgress) => void>
  waiters: number
}

export interface LoadedSetOptions {
  /** Bytes that all loaded models may take. */
  readonly budget: number
  readonly load: (model: Offered, report: Report, signal: AbortSignal) => Promise<LoadedModel>
}

/** The models on the GPU: loaded when first asked for, unloaded when others need the room, rebuilt after a loss. */
export class LoadedSet {
  readonly #options: LoadedSetOptions
  /** Least recently used first. */
  readonly #loaded = new Map<string, LoadedModel>()
  readonly #loading = new Map<string, Loading>()
  readonly #users = new Map<LoadedModel, number>()
  /** Loads one after the other: two at once would both find the memory free. */
  #line: Promise<unknown> = Promise.resolve()
  #freed: (() => void)[] = []
  #closed = false

  constructor(options: LoadedSetOptions) {
    this.#options = options
  }

  find(id: string): LoadedModel | undefined {
    return this.#loaded.get(id)
  }

  /** Runs `action` with the model loaded, and keeps it from being unloaded meanwhile. */
  async *use<T>(
    model: Offered,
    signal: AbortSignal,
    action: (loaded: LoadedModel) => AsyncIterable<T>,
  ): AsyncGenerator<T> {
    let loaded = await this.ready(model, signal, () => {})
    // It may have been unloaded on the way here.
    if (loaded.decoder.failure !== undefined) loaded = await this.ready(model, signal, () => {})
    this.#users.set(loaded, (this.#users.get(loaded) ?? 0) + 1)
    try {
      yield* action(loaded)
    } finally {
      const users = this.#users.get(loaded)! - 1
      if (users > 0) this.#users.set(loaded, users)
      else this.#users.delete(loaded)
      for (const wake of this.#freed.splice(0)) wake()
    }
  }

  /** The model, loaded now or before. A load goes on as long as somebody waits for it. */
  async ready(model: Offered, signal: AbortSignal, onProgress: (progress: LoadProgress) => void): Promise<LoadedModel> {
    signal.throwIfAborted()
    const loaded = await this.#usable(model.id)
    if (this.#closed) throw new V1Error(503, 'The engine is closed.', { code: 'engine_closed' })
    if (loaded !== undefined) return loaded
    const loading = this.#loading.get(model.id) ?? this.#start(model)
    loading.listeners.add(onProgress)
    loading.waiters++
    try {
      return await abortable(loading.done, signal)
    } finally {
      loading.listeners.delete(onProgress)
      if (--loading.waiters === 0) loading.aborter.abort(signal.reason)
    }
  }

  async unload(id: string): Promise<void> {
    this.#loading.get(id)?.aborter.abort(new V1Error(503, 'The model was unloaded while it was being loaded.'))
    await this.#drop(id)
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#loaded.keys(), ...this.#loading.keys()].map((id) => this.unload(id)))
    await this.#line.catch(() => {})
  }

  /** The model if it is loaded and whole; it is then the one used last. */
  async #usable(id: string): Promise<LoadedModel | undefined> {
    const loaded = this.#loaded.get(id)
    if (loaded === undefined || loaded.decoder.failure !== undefined) return undefined
    const alive = await loaded.alive()
    if (this.#loaded.get(id) !== loaded || loaded.decoder.failure !== undefined) return undefined
    if (!alive) {
      // The failure stays with it: nobody takes it for whole again.
      loaded.decoder.abandon(deviceLost())
      return undefined
    }
    this.#loaded.delete(id)
    this.#loaded.set(id, loaded)
    return loaded
  }

  #start(model: Offered): Loading {
    const listeners = new Set<(progress: LoadProgress) => void>()
    const aborter = new AbortController()
    const tell: Report = (progress) => {
      for (const listener of listeners) listener({ model: model.id, ...progress })
    }
    const done = this.#line
      .catch(() => {})
      .then(() => this.#load(model, tell, aborter.signal))
      .finally(() => this.#loading.delete(model.id))
    this.#line = done
    done.catch(() => {})
    const loading = { done, aborter, listeners, waiters: 0 }
    this.#loading.set(model.id, loading)
    return loading
  }

  async #load(model: Offered, report: Report, signal: AbortSignal): Promise<LoadedModel> {
    signal.throwIfAborted()
    await this.#dropFailed()
    await this.#makeRoom(memoryOf(model.record), signal)
    const loaded = await this.#options.load(model, report, signal)
    this.#loaded.set(model.id, loaded)
    const { bytes } = loaded
    report({ phase: 'ready', bytesLoaded: bytes, bytesTotal: bytes, filesLoaded: 1, filesTotal: 1 })
    return loaded
  }

  /** Unloads what has been idle longest until `bytes` more fit; waits for answers to end where none is idle. */
  async #makeRoom(bytes: number, signal: AbortSignal): Promise<void> {
    while (this.#taken() + bytes > this.#options.budget && this.#loaded.size > 0) {
      const idle = [...this.#loaded.values()].find((loaded) => !this.#users.has(loaded))
      if (idle !== undefined) await this.#drop(idle.id)
      else {
        const freed = new Promise<void>((resolve) => {
          this.#freed.push(resolve)
        })
        await abortable(freed, signal)
      }
    }
  }

  #taken(): number {
    return [...this.#loaded.values()].reduce((sum, { bytes }) => sum + bytes, 0)
  }

  async #dropFailed(): Promise<void> {
    const failed = [...this.#loaded.values()].filter(({ decoder }) => decoder.failure !== undefined)
    for (const { id } of failed) await this.#drop(id)
  }

  async #drop(id: string): Promise<void> {
    const loaded = this.#loaded.get(id)
    this.#loaded.delete(id)
    await loaded?.decoder.close().catch(() => {})
  }
}

/** `promise`, or the signal's reason if that comes first. */
function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
