import {
  type ChatCall,
  type DecideCall,
  type Decided,
  type DetokenizeCall,
  type LoadProgress,
  modelCannot,
  modelDeleted,
  type Part,
  type TokenizeCall,
  type TokenizedText,
  type TokenizerInfoCall,
  V1Error,
} from '../contract/index.js'
import { DecodeLoop, type Encoder } from '../generate/index.js'
import type { LoadReport } from '../models/index.js'
import { abortable, atMost, getOrMake } from '../platform/index.js'

/** What a set asks of a loaded model. */
export interface Loaded {
  readonly id: string
  /** Memory it takes. */
  readonly bytes: number
  /** What runs it. */
  readonly runner: {
    /** What made it unusable, if anything did. */
    readonly failure: unknown
    abandon(error: unknown): void
    close(): Promise<void>
  }
  /** Asked before each use where a loss is not told: whether it is still there. */
  alive?(): Promise<boolean>
}

export interface LoadContext {
  readonly report: LoadReport
  readonly signal: AbortSignal
  /** Unloads what has been idle longest until it `fits`, or nothing is loaded; waits for answers where none is idle. */
  makeRoom(fits: () => boolean): Promise<void>
}

export interface ModelSetOptions<Model, L extends Loaded> {
  readonly load: (model: Model, context: LoadContext) => Promise<L>
  /** Why a model that is no longer `alive` fails what runs on it. */
  readonly lost?: () => V1Error
}

interface Loading<L> {
  readonly done: Promise<L>
  /** Nothing of it goes on, nor of one of the same model that was given up before. */
  readonly over: Promise<unknown>
  readonly aborter: AbortController
  readonly listeners: Set<(progress: LoadProgress) => void>
  waiters: number
}

/** How long whoever unloads a model waits for its load to let go of all it has. */
const LET_GO_MS = 5000
/** How many may begin on models that are loaded while one waits for the room that these have: then it is its turn. */
const MAY_PASS = 8

/** Models by id: loaded when first asked for, unloaded when others need the room, loaded anew after a loss. */
export class ModelSet<Model extends { readonly id: string }, L extends Loaded> {
  readonly #options: ModelSetOptions<Model, L>
  /** Least recently used first. */
  readonly #loaded = new Map<string, L>()
  readonly #loading = new Map<string, Loading<L>>()
  readonly #users = new Map<L, number>()
  /** Loads one after the other: two at once would both find the memory free. */
  #line: Promise<void> = Promise.resolve()
  /** What is being deleted: nobody loads it meanwhile. */
  readonly #removing = new Map<string, Promise<void>>()
  #freed: (() => void)[] = []
  /** How many have begun since a load waits for room; undefined where none does. */
  #passed: number | undefined
  /** Those who may not begin before that load has its room. */
  #behind: (() => void)[] = []
  #closed = false

  constructor(options: ModelSetOptions<Model, L>) {
    this.#options = options
  }

  get loaded(): Iterable<L> {
    return this.#loaded.values()
  }

  find(id: string): L | undefined {
    return this.#loaded.get(id)
  }

  /** Runs `action` with the model loaded, and keeps it from being unloaded meanwhile. */
  async *use<T>(model: Model, signal: AbortSignal, action: (loaded: L) => AsyncIterable<T>): AsyncGenerator<T> {
    await this.#pass(model, signal)
    let loaded = await this.ready(model, signal, () => {})
    // It may have been unloaded, or lost, on the way here.
    if (loaded.runner.failure !== undefined) loaded = await this.ready(model, signal, () => {})
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

  /** `use` for what has one result. */
  async ask<T>(model: Model, signal: AbortSignal, action: (loaded: L) => T | Promise<T>): Promise<T> {
    const once = async function* (loaded: L) {
      yield await action(loaded)
    }
    for await (const result of this.use(model, signal, once)) return result
    throw new Error('The action had no result.')
  }

  /** The model, loaded now or before. A load goes on as long as somebody waits for it. */
  async ready(model: Model, signal: AbortSignal, onProgress: (progress: LoadProgress) => void): Promise<L> {
    signal.throwIfAborted()
    const loaded = await this.#usable(model.id)
    if (this.#closed) throw new V1Error(503, 'The engine is closed.', { code: 'engine_closed' })
    if (loaded !== undefined) return loaded
    if (this.#removing.has(model.id)) throw modelDeleted(model.id)
    const known = this.#loading.get(model.id)
    // One that is being given up fails whoever joins it; the next stands behind it in the line.
    const loading = known && !known.aborter.signal.aborted ? known : this.#start(model)
    loading.listeners.add(onProgress)
    loading.waiters++
    try {
      return await abortable(loading.done, signal)
    } finally {
      loading.listeners.delete(onProgress)
      if (--loading.waiters === 0) loading.aborter.abort(signal.reason)
    }
  }

  async unload(id: string, why?: V1Error): Promise<void> {
    const unloaded = `The model '${id}' was unloaded while it was being loaded.`
    const loading = this.#loading.get(id)
    loading?.aborter.abort(why ?? new V1Error(503, unloaded, { code: 'model_unloaded', retryAfter: 1 }))
    if (why) this.#loaded.get(id)?.runner.abandon(why)
    await this.#drop(id)
    // Until then it may write files that are about to be deleted.
    if (loading) await atMost(LET_GO_MS, loading.over)
  }

  /** Unloads it and has its files deleted. */
  remove(id: string, erase: () => Promise<void> | undefined): Promise<void> {
    const erased = async () => {
      await this.unload(id, modelDeleted(id))
      await erase()
    }
    return getOrMake(this.#removing, id, () => erased().finally(() => this.#removing.delete(id)))
  }

  /** What runs on these fails, because what was under them is gone; nothing is left to free. */
  abandon(which: (loaded: L) => boolean, error: unknown): void {
    for (const [id, loaded] of this.#loaded) {
      if (!which(loaded)) continue
      this.#loaded.delete(id)
      loaded.runner.abandon(error)
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#loaded.keys(), ...this.#loading.keys()].map((id) => this.unload(id)))
    await this.#line
  }

  /** The model if it is loaded and whole; it is then the one used last. */
  async #usable(id: string): Promise<L | undefined> {
    const loaded = this.#loaded.get(id)
    if (loaded === undefined || loaded.runner.failure !== undefined) return undefined
    if (loaded.alive !== undefined) {
      const alive = await loaded.alive()
      if (this.#loaded.get(id) !== loaded || loaded.runner.failure !== undefined) return undefined
      if (!alive) {
        // The failure stays with it: nobody takes it for whole again.
        loaded.runner.abandon(this.#options.lost!())
        return undefined
      }
    }
    this.#loaded.delete(id)
    this.#loaded.set(id, loaded)
    return loaded
  }

  #start(model: Model): Loading<L> {
    const listeners = new Set<(progress: LoadProgress) => void>()
    const aborter = new AbortController()
    const tell: LoadReport = (progress) => {
      for (const listener of listeners) listener({ model: model.id, ...progress })
    }
    const before = this.#line
    const earlier = this.#loading.get(model.id)?.over
    // Who is given up in the line does not wait for its turn; those behind it wait for all before it.
    const done = abortable(before, aborter.signal)
      .then(() => this.#load(model, tell, aborter.signal))
      .finally(() => {
        if (this.#loading.get(model.id) === loading) this.#loading.delete(model.id)
      })
    // Not the model itself: it would be held, and its memory with it, until the next one is loaded.
    const ended = done.then(
      () => {},
      () => {},
    )
    this.#line = before.then(() => ended)
    const loading: Loading<L> = { done, over: Promise.all([earlier, ended]), aborter, listeners, waiters: 0 }
    this.#loading.set(model.id, loading)
    return loading
  }

  async #load(model: Model, report: LoadReport, signal: AbortSignal): Promise<L> {
    signal.throwIfAborted()
    // What has failed still holds memory.
    for (const { id, runner } of [...this.#loaded.values()]) if (runner.failure !== undefined) await this.#drop(id)
    const makeRoom = (fits: () => boolean) => this.#makeRoom(fits, signal)
    const loaded = await this.#options.load(model, { report, signal, makeRoom })
    // Its last part, such as compiling kernels, may not ask whether somebody still wants it.
    if (signal.aborted) await loaded.runner.close()
    signal.throwIfAborted()
    this.#loaded.set(model.id, loaded)
    const { bytes } = loaded
    report({ phase: 'ready', bytesLoaded: bytes, bytesTotal: bytes, filesLoaded: 1, filesTotal: 1 })
    return loaded
  }

  async #makeRoom(fits: () => boolean, signal: AbortSignal): Promise<void> {
    try {
      while (!fits() && this.#loaded.size > 0) {
        const idle = [...this.#loaded.values()].find((loaded) => !this.#users.has(loaded))
        if (idle !== undefined) await this.#drop(idle.id)
        else {
          this.#passed ??= 0
          await abortable(wakenBy(this.#freed), signal)
        }
      }
    } finally {
      this.#passed = undefined
      for (const wake of this.#behind.splice(0)) wake()
    }
  }

  /** A model that always has somebody would never make room: whoever comes late to it waits for the load that waits. */
  async #pass({ id }: Model, signal: AbortSignal): Promise<void> {
    while (this.#passed !== undefined && this.#loaded.has(id)) {
      if (this.#passed++ < MAY_PASS) return
      await abortable(wakenBy(this.#behind), signal)
    }
  }

  async #drop(id: string): Promise<void> {
    const loaded = this.#loaded.get(id)
    this.#loaded.delete(id)
    await loaded?.runner.close().catch(() => {})
  }
}

const wakenBy = (waiting: (() => void)[]): Promise<void> => new Promise((resolve) => waiting.push(resolve))

/** What an engine over such a set does alike, whatever its models run on. */
export abstract class ModelSetEngine<
  Model extends { readonly id: string },
  L extends Loaded & { readonly runner: DecodeLoop | Encoder },
> {
  readonly version = 2
  protected abstract readonly set: ModelSet<Model, L>

  /** The model of this id; throws where there is none that can be asked. */
  protected abstract find(id: string): Model | Promise<Model>

  async *generate(call: ChatCall): AsyncGenerator<Part> {
    yield* this.set.use(await this.find(call.model), call.signal, ({ runner }) => {
      if (runner instanceof DecodeLoop) return runner.generate(call)
      throw modelCannot(call.model, 'cannot generate text')
    })
  }

  async decide(call: DecideCall): Promise<Decided> {
    return this.set.ask(await this.find(call.model), call.signal, ({ runner }) => {
      if (runner.capabilities.decisions) return runner.decide(call)
      throw modelCannot(call.model, 'cannot decide')
    })
  }

  async tokenize(call: TokenizeCall): Promise<TokenizedText> {
    return this.set.ask(await this.find(call.model), call.signal, ({ runner }) => runner.tokenize(call))
  }

  async detokenize(call: DetokenizeCall): Promise<string> {
    return this.set.ask(await this.find(call.model), call.signal, ({ runner }) => runner.detokenize(call))
  }

  async tokenizerInfo({ model, signal }: TokenizerInfoCall): Promise<Readonly<Record<string, unknown>>> {
    return this.set.ask(await this.find(model), signal, ({ runner }) => runner.tokenizerInfo)
  }

  async load(id: string, onProgress: (progress: LoadProgress) => void, signal: AbortSignal): Promise<void> {
    await this.set.ready(await this.find(id), signal, onProgress)
  }

  async close(): Promise<void> {
    await this.set.close()
  }
}
