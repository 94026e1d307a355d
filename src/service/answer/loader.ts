import {
  doneOf,
  type Engine,
  type LoadProgress,
  type ModelInfo,
  modelDeleted,
  modelNotFound,
  V1Error,
} from '../../contract/index.js'

export type OnProgress = (progress: LoadProgress) => void

/** An object for each who listens: two may have one function. */
type Listeners = Set<{ readonly onProgress: OnProgress }>

interface Load {
  done: Promise<void>
  readonly aborter: AbortController
  readonly listeners: Listeners
  progress: LoadProgress | undefined
}

/**
 * Loads each model once, on its first request, for all who want it. A load goes on when those who asked have left: the
 * client that was told to come back later should find it done.
 */
export class Loader {
  readonly #engine: Engine
  readonly #waitMs: number | undefined
  readonly #threw: (error: unknown) => void
  readonly #ready = new Set<string>()
  readonly #loads = new Map<string, Load>()
  readonly #watchers: Listeners = new Set()
  /** When models were deleted. */
  readonly #deleted = new Map<string, number>()

  /** `threw` hears of listeners that throw: a page that cannot draw its bar is no reason to load nothing. */
  constructor(engine: Engine, waitMs: number | undefined, threw: (error: unknown) => void) {
    this.#engine = engine
    this.#waitMs = waitMs
    this.#threw = threw
  }

  /**
   * Undefined when the model is ready; else settles once it is, or rejects with 503 when that takes too long. Who has
   * `arrived` before the model was deleted does not have it downloaded once more.
   */
  ready(model: string, signal: AbortSignal, arrived: number): Promise<void> | undefined {
    if (arrived < (this.#deleted.get(model) ?? 0)) throw modelDeleted(model)
    if (!this.#engine.load || this.#ready.has(model)) return undefined
    const load = this.#start(model)
    return waitFor(load.done, signal, this.#waitMs, () => stillLoading(model, load.progress))
  }

  /** Loads ahead of the first request. An engine may have unloaded it since for want of room: it is always asked. */
  async load(model: string, onProgress: OnProgress = () => {}, signal?: AbortSignal): Promise<void> {
    if (!this.#engine.load) return
    const load = this.#start(model)
    const leave = joined(load.listeners, onProgress)
    if (load.progress) this.#tell(onProgress, load.progress)
    try {
      await waitFor(load.done, signal)
    } finally {
      leave()
    }
  }

  /** Hears of every load, whoever asked for it, until the returned function is called. */
  watch(onProgress: OnProgress): () => void {
    return joined(this.#watchers, onProgress)
  }

  async unload(model: string): Promise<void> {
    const message = `The model '${model}' was unloaded while it was being loaded.`
    this.#giveUp(model, new V1Error(503, message, { code: 'model_unloaded' }))
    await this.#engine.unload?.(model)
  }

  /** Unloads it and deletes what was downloaded for it. */
  async remove(model: string): Promise<void> {
    if (!this.#engine.remove) {
      throw new V1Error(409, `The model '${model}' cannot be removed.`, { param: 'model', code: 'not_downloaded' })
    }
    const before = this.#deleted.get(model) ?? 0
    this.#deleted.set(model, performance.now())
    try {
      await this.#engine.remove(model)
    } catch (error) {
      // Nobody who waits for the model is to hear that it is gone.
      this.#deleted.set(model, before)
      throw error
    }
    this.#giveUp(model, modelDeleted(model))
  }

  #giveUp(model: string, why: V1Error): void {
    this.#ready.delete(model)
    const loading = this.#loads.get(model)
    // Who asks from here on begins anew.
    this.#loads.delete(model)
    loading?.aborter.abort(why)
  }

  close(): void {
    const closing = new V1Error(503, 'The service is closing.', { code: 'closing', retryAfter: 5 })
    for (const { aborter } of this.#loads.values()) aborter.abort(closing)
  }

  #tell(listener: OnProgress, progress: LoadProgress): void {
    try {
      listener(progress)
    } catch (error) {
      this.#threw(error)
    }
  }

  #start(model: string): Load {
    const running = this.#loads.get(model)
    if (running) return running
    const load: Load = {
      done: Promise.resolve(),
      aborter: new AbortController(),
      listeners: new Set(),
      progress: undefined,
    }
    this.#loads.set(model, load)
    const report: OnProgress = (progress) => {
      load.progress = progress
      for (const { onProgress } of [...load.listeners, ...this.#watchers]) this.#tell(onProgress, progress)
    }
    // Starts at once, and may report at once.
    load.done = (async () => this.#engine.load!(model, report, load.aborter.signal))()
    load.done
      .then(
        () => {
          if (this.#loads.get(model) === load) this.#ready.add(model)
        },
        // Those who wait are told; the next request tries again.
        () => {},
      )
      .finally(() => {
        if (this.#loads.get(model) === load) this.#loads.delete(model)
      })
    return load
  }
}

function joined(listeners: Listeners, onProgress: OnProgress): () => void {
  const listener = { onProgress }
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

function stillLoading(model: string, progress: LoadProgress | undefined): V1Error {
  const [done, of] = progress ? doneOf(progress) : [0, 0]
  const far = of > 0 ? ` (${progress!.phase}, ${Math.floor((done / of) * 100)} %)` : ''
  return new V1Error(503, `The model '${model}' is being loaded${far}.`, {
    param: 'model',
    code: 'model_loading',
    retryAfter: Math.min(60, Math.max(1, Math.ceil(progress?.secondsLeft ?? 5))),
  })
}

/** Leaves early with the signal's reason, or with an error of its own after `ms`. */
export function waitFor(done: Promise<void>, signal?: AbortSignal, ms?: number, late?: () => V1Error): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const leave = () => reject(signal!.reason)
    const timer = ms === undefined ? undefined : setTimeout(() => reject(late!()), ms)
    signal?.addEventListener('abort', leave, { once: true })
    done.then(resolve, reject).finally(() => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', leave)
    })
  })
}

/** Waits until the engine knows which models it has; whoever leaves waits no longer. */
export async function lookedAround({ ready }: Engine, signal: AbortSignal): Promise<void> {
  if (ready !== undefined) await waitFor(ready, signal)
}

/** A model of which is known what it can; whoever read its name has looked around before. */
export async function knownModel(engine: Engine, id: string, signal: AbortSignal): Promise<ModelInfo> {
  const model = findModel(engine, id)
  if (!engine.learn) return model
  await waitFor(engine.learn(id, signal), signal)
  return findModel(engine, id)
}

export function findModel(engine: Engine, id: string): ModelInfo {
  const model = engine.models.find((each) => each.id === id)
  if (!model) throw modelNotFound(id, engine.models)
  return model
}

/** What models go by: their ids, and other names of them. */
interface ModelNames {
  readonly engine: Engine
  readonly aliases: ReadonlyMap<string, string>
}

/**
 * The id of the model that is meant: by an alias, or by its name without the namespace where one model alone has it.
 * Ollama's names have a tag, and `latest` is the one that is meant where none is said; its own models are offered here
 * under names with a dash (`ollama/qwen3-0.6b`). What is meant by nobody stays as it is, and is found by nobody.
 */
export function modelIdOf({ engine, aliases }: ModelNames, name: string): string {
  const { models } = engine
  const bare = name.replace(/:latest$/, '')
  for (const each of [name, bare, bare.replaceAll(':', '-')]) {
    if (models.some(({ id }) => id === each)) return each
    const alias = aliases.get(each)
    if (alias !== undefined) return alias
    const named = each.includes('/') ? [] : models.filter(({ id }) => id.slice(id.indexOf('/') + 1) === each)
    if (named.length === 1) return named[0]!.id
  }
  return name
}
