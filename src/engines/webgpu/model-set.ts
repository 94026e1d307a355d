import type { LoadProgress } from '../../engine.js'
import { V1Error } from '../../errors.js'
import type { Device } from './device/device.js'
import { bytesNeeded, type LoadedModel, loadModel } from './loaded-model.js'
import type { OfferedModel } from './options.js'
import type { Surroundings } from './surroundings.js'

interface Loading {
  readonly done: Promise<LoadedModel>
  readonly aborter: AbortController
  readonly listeners: Set<(progress: LoadProgress) => void>
  waiters: number
}

export interface ModelSetOptions {
  readonly surroundings: Surroundings
  /** Bytes that all loaded models may take, by kind of device. */
  readonly budget: (device: Device) => number
  readonly maxBatch: number | undefined
  readonly onDevice: (device: Device) => void
}

/** The models on the device: loaded when first asked for, unloaded when others need the room, rebuilt after a loss. */
export class ModelSet {
  readonly #options: ModelSetOptions
  /** Least recently used first. */
  readonly #loaded = new Map<string, LoadedModel>()
  readonly #loading = new Map<string, Loading>()
  readonly #users = new Map<LoadedModel, number>()
  #device: Promise<Device> | undefined
  /** Loads one after the other: two at once would both find the memory free. */
  #line: Promise<unknown> = Promise.resolve()
  #freed: (() => void)[] = []
  #closed = false

  constructor(options: ModelSetOptions) {
    this.#options = options
  }

  find(id: string): LoadedModel | undefined {
    return this.#loaded.get(id)
  }

  /** Runs `action` with the model loaded, and keeps it from being unloaded meanwhile. */
  async *use<T>(
    model: OfferedModel,
    signal: AbortSignal,
    action: (loaded: LoadedModel) => AsyncIterable<T>,
  ): AsyncGenerator<T> {
    let loaded = await this.ready(model, signal, () => {})
    // It may have been unloaded, or its device lost, on the way here.
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
  async ready(
    model: OfferedModel,
    signal: AbortSignal,
    onProgress: (progress: LoadProgress) => void,
  ): Promise<LoadedModel> {
    signal.throwIfAborted()
    if (this.#closed) throw new V1Error(503, 'The engine is closed.', { code: 'engine_closed' })
    const loaded = this.#loaded.get(model.id)
    if (loaded !== undefined && loaded.decoder.failure === undefined) {
      this.#loaded.delete(model.id)
      this.#loaded.set(model.id, loaded)
      return loaded
    }
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
    const loaded = this.#loaded.get(id)
    this.#loaded.delete(id)
    await loaded?.decoder.close().catch(() => {})
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#loaded.keys(), ...this.#loading.keys()].map((id) => this.unload(id)))
    await this.#line.catch(() => {})
    const device = await this.#device?.catch(() => undefined)
    this.#device = undefined
    device?.destroy()
  }

  #start(model: OfferedModel): Loading {
    const listeners = new Set<(progress: LoadProgress) => void>()
    const aborter = new AbortController()
    const tell = (progress: Omit<LoadProgress, 'model'>) => {
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

  async #load(
    model: OfferedModel,
    report: (progress: Omit<LoadProgress, 'model'>) => void,
    signal: AbortSignal,
  ): Promise<LoadedModel> {
    signal.throwIfAborted()
    await this.#dropFailed(model.id)
    const { surroundings, maxBatch } = this.#options
    const device = await this.#openDevice()
    const repository = await surroundings.openRepository(model, report, signal)
    await this.#makeRoom(device, bytesNeeded(model, repository.weights, device, maxBatch), signal)
    const loaded = await loadModel(model, repository, device, { maxBatch, report, signal })
    this.#loaded.set(model.id, loaded)
    const { bytes } = loaded
    report({ phase: 'ready', bytesLoaded: bytes, bytesTotal: bytes, filesLoaded: 1, filesTotal: 1 })
    return loaded
  }

  /** Unloads what has been idle longest until `bytes` more fit; waits for answers to end where none is idle. */
  async #makeRoom(device: Device, bytes: number, signal: AbortSignal): Promise<void> {
    const budget = this.#options.budget(device)
    while (device.memory.bytes + bytes > budget && this.#loaded.size > 0) {
      const idle = [...this.#loaded.values()].find((loaded) => !this.#users.has(loaded))
      if (idle !== undefined) await this.unload(idle.id)
      else {
        const freed = new Promise<void>((resolve) => {
          this.#freed.push(resolve)
        })
        await abortable(freed, signal)
      }
    }
  }

  async #dropFailed(id: string): Promise<void> {
    const loaded = this.#loaded.get(id)
    if (loaded === undefined) return
    this.#loaded.delete(id)
    await loaded.decoder.close().catch(() => {})
  }

  #openDevice(): Promise<Device> {
    if (this.#device === undefined) {
      const opening = this.#options.surroundings.openDevice()
      this.#device = opening
      opening.then(
        (device) => {
          this.#options.onDevice(device)
          void device.lost.then((error) => this.#lost(device, opening, error))
        },
        () => {
          // The next request tries again: a GPU may come back.
          this.#device = undefined
        },
      )
    }
    return this.#device
  }

  /** Everything on a lost device is gone. What runs fails; what comes next finds a new device. */
  #lost(device: Device, opening: Promise<Device>, error: Error): void {
    if (this.#device === opening) this.#device = undefined
    for (const [id, loaded] of this.#loaded) {
      if (loaded.device !== device) continue
      this.#loaded.delete(id)
      loaded.decoder.abandon(error)
    }
    try {
      device.destroy()
    } catch {
      // It is gone already.
    }
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
