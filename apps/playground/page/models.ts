import { addedModels, keepAdded, tellChanged } from '../worker/added-models.js'
import { wordsOf } from '../worker/words.js'
import {
  ApiError,
  isBroken,
  type LoadProgress,
  listModels,
  loadModel,
  type Model,
  removeModel,
  unloadModel,
} from './api.js'

export interface Load extends LoadProgress {
  /** Bytes a second over the last moments of a download. */
  readonly speed?: number
}

const WINDOW_MS = 3000
/** How often news may break off without a word. */
const MOST_SILENT = 3
/** A load is told of so often, and where another part of it begins. */
const TOLD_MS = 200
/** After so long without news, a load in another tab is over. */
const GONE_MS = 5000

/** What a server could serve beside what it does. */
export interface Offers {
  readonly models: readonly Model[]
  /** Settles once it is in the server's list. */
  add(id: string, onProgress: (done: number, of: number) => void, signal: AbortSignal): Promise<void>
}

/** The list of models, which one is chosen, and loads on their way. */
export class Models {
  list: readonly Model[] = []
  /** Whether this page may load and unload models; a server loads them with their first request. */
  managed = true
  selected = ''
  /** Those that the user added, which can be taken off the list. */
  added: ReadonlySet<string> = new Set()
  /** Of a server that lets this page add models. */
  offers: Offers | undefined
  readonly loads = new Map<string, Load>()
  readonly errors = new Map<string, string>()
  readonly #running = new Map<string, Promise<void>>()
  readonly #adding = new Map<string, AbortController>()
  readonly #listeners = new Set<() => void>()
  /** When listeners heard of a load last. */
  #toldAt = 0
  #goneTimer: ReturnType<typeof setTimeout> | undefined

  get current(): Model | undefined {
    return this.list.find(({ id }) => id === this.selected)
  }

  onChange(listener: () => void): void {
    this.#listeners.add(listener)
  }

  async refresh(): Promise<void> {
    const served = await listModels()
    const offered = this.offers?.models.filter(({ id }) => !served.some((model) => model.id === id)) ?? []
    this.list = [...served, ...offered]
    if (this.managed) this.added = new Set((await addedModels()).map(({ id }) => id))
    if (this.selected !== '' && !this.current) this.selected = this.list[0]?.id ?? ''
    this.#changed()
  }

  select(id: string): void {
    this.selected = id
    this.#changed()
  }

  /** The chosen model, loaded, for a request that is about to be sent. Who asks says what fails, and nobody else. */
  async loadForRequest(): Promise<void> {
    const { metadata, offered } = this.current ?? {}
    if (offered || (this.managed && !metadata?.loaded)) await this.load(this.selected, true)
  }

  /** Loads it, or joins the load that is on its way; behind one that was stopped it begins anew. */
  load(id: string, quiet = false): Promise<void> {
    let running = this.#running.get(id)
    if (running && this.#adding.get(id)?.signal.aborted) {
      return running.catch(() => {}).then(() => this.load(id, quiet))
    }
    if (!running) {
      running = this.#load(id, quiet).finally(() => this.#running.delete(id))
      this.#running.set(id, running)
    }
    return running
  }

  /** What another tab loads, this one shows. */
  hear(id: string, load: Load): void {
    if (this.#running.has(id)) return
    clearTimeout(this.#goneTimer)
    const over = () => {
      this.loads.delete(id)
      void this.refresh().catch(() => {})
    }
    if (load.phase === 'ready') over()
    else {
      this.#goneTimer = setTimeout(over, GONE_MS)
      this.#tell(id, load)
    }
  }

  unload(id: string): Promise<void> {
    const adding = this.#adding.get(id)
    if (adding) {
      adding.abort()
      return Promise.resolve()
    }
    return this.#change(id, unloadModel)
  }

  /** Deletes what was downloaded; what the user added is off the list too. */
  remove(id: string): Promise<void> {
    return this.#change(id, async () => {
      await removeModel(id)
      if (!this.added.has(id)) return
      await keepAdded((await addedModels()).filter((model) => model.id !== id))
      await this.#offList(id)
    })
  }

  /** Who serves it hears of that in its own time. */
  async #offList(id: string): Promise<void> {
    for (let i = 0; i < 20 && (await listModels()).some((model) => model.id === id); i++) {
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }

  async #change(id: string, change: (id: string) => Promise<unknown>): Promise<void> {
    this.errors.delete(id)
    try {
      await change(id)
      tellChanged()
    } catch (error) {
      this.errors.set(id, wordsOf(error))
      throw error
    } finally {
      await this.refresh().catch(() => {})
    }
  }

  async #load(id: string, quiet: boolean): Promise<void> {
    this.errors.delete(id)
    this.#tell(id, { phase: 'download', bytes_loaded: 0, bytes_total: 0 })
    const adding = this.list.find((model) => model.id === id)?.offered && new AbortController()
    let isLoaded = false
    try {
      if (adding) await this.#add(id, adding)
      else {
        await this.#follow(id)
        isLoaded = true
        this.list = this.list.map((model) => (model.id === id ? asLoaded(model) : model))
      }
    } catch (error) {
      // Somebody pressed Stop, in this tab or another.
      const stopped = adding?.signal.aborted || (error instanceof ApiError && error.code === 'model_unloaded')
      if (!stopped && !quiet) this.errors.set(id, wordsOf(error))
      throw error
    } finally {
      // What was stopped is on the server's list until it has heard of that, and could not be downloaded again: until
      // then it is not over, for whoever draws it.
      if (adding?.signal.aborted) await this.#offList(id).catch(() => {})
      this.#adding.delete(id)
      this.loads.delete(id)
      const refreshed = this.refresh().catch(() => this.#changed())
      // Who waits for a model that is loaded need not wait for the list of all.
      if (isLoaded) this.#changed()
      else await refreshed
    }
  }

  async #add(id: string, adding: AbortController): Promise<void> {
    this.#adding.set(id, adding)
    const seen: { time: number; bytes: number }[] = []
    const onProgress = (bytes_loaded: number, bytes_total: number) => {
      const progress = { phase: 'download', bytes_loaded, bytes_total } as const
      this.#tell(id, { ...progress, speed: speedOf(seen, progress) })
    }
    await this.offers!.add(id, onProgress, adding.signal)
  }

  /** Follows a load to its end. It goes on where its news break off, as when the browser ends the service worker. */
  async #follow(id: string): Promise<void> {
    const seen: { time: number; bytes: number }[] = []
    for (let silent = 0; ; silent++) {
      try {
        for await (const progress of loadModel(id)) {
          silent = 0
          this.#tell(id, { ...progress, speed: progress.phase === 'download' ? speedOf(seen, progress) : undefined })
        }
        return
      } catch (error) {
        if (!isBroken(error) || silent === MOST_SILENT) throw error
      }
    }
  }

  /** Nobody reads faster, and who draws each of them takes the time of who loads. */
  #tell(id: string, load: Load): void {
    const before = this.loads.get(id)
    this.loads.set(id, load)
    const now = performance.now()
    if (before?.phase === load.phase && now - this.#toldAt < TOLD_MS) return
    this.#toldAt = now
    this.#changed()
  }

  #changed(): void {
    for (const listener of this.#listeners) listener()
  }
}

const asLoaded = (model: Model): Model => ({ ...model, metadata: { ...model.metadata, loaded: true } })

function speedOf(seen: { time: number; bytes: number }[], { bytes_loaded }: LoadProgress): number | undefined {
  const time = performance.now()
  seen.push({ time, bytes: bytes_loaded })
  while (time - seen[0]!.time > WINDOW_MS) seen.shift()
  const [first] = seen
  const elapsed = time - first!.time
  return elapsed < 200 ? undefined : ((bytes_loaded - first!.bytes) * 1000) / elapsed
}
