import { download, type Fetch, type StoredFile } from '../../../models/index.js'
import { localFile, responseOf } from './local-files.js'
import type { SeenStore } from './seen-store.js'

type CacheRequest = string | URL | Request

/** What WebLLM uses of `caches`. */
export interface StoreCaches {
  open(name: string): Promise<StoreCache>
}

/** `caches` over our own store, so that both engines find what either has downloaded. */
export function storeCaches(store: SeenStore, fetch: Fetch): StoreCaches {
  const cache = new StoreCache(store, fetch)
  return { open: async () => cache }
}

class StoreCache {
  readonly #store: SeenStore
  readonly #fetch: Fetch
  /** What was fetched for a store that keeps nothing: read once, then gone. */
  readonly #held = new Map<string, StoredFile>()

  constructor(store: SeenStore, fetch: Fetch) {
    this.#store = store
    this.#fetch = fetch
  }

  async match(request: CacheRequest): Promise<Response | undefined> {
    const url = addressOf(request)
    const file = url.startsWith('file:') ? await localFile(url) : (this.#held.get(url) ?? (await this.#store.read(url)))
    return file && responseOf(file, () => this.#held.delete(url))
  }

  async add(request: CacheRequest): Promise<void> {
    const url = addressOf(request)
    if (url.startsWith('file:')) throw new TypeError(`There is no file ${url}.`)
    const signal = request instanceof Request ? request.signal : new AbortController().signal
    const name = url.slice(url.lastIndexOf('/') + 1)
    const writer = await this.#store.write(url)
    try {
      const found = await download({ url, file: { name }, writer, fetch: this.#fetch, onBytes: () => {}, signal })
      if (!found) throw new TypeError(`The server has no ${url}.`)
      this.#hold(url, await writer.commit())
    } finally {
      await writer.close()
    }
  }

  async put(request: CacheRequest, response: Response): Promise<void> {
    const url = addressOf(request)
    const writer = await this.#store.write(url)
    try {
      await writer.restart()
      for await (const chunk of response.body ?? []) await writer.append(chunk)
      this.#hold(url, await writer.commit())
    } finally {
      await writer.close()
    }
  }

  async keys(): Promise<Request[]> {
    return [...this.#store.seen, ...this.#held.keys()].map((url) => new Request(url))
  }

  async delete(request: CacheRequest): Promise<boolean> {
    const url = addressOf(request)
    const there = this.#held.delete(url) || (await this.#store.read(url)) !== undefined
    if (there) await this.#store.forget(url)
    return there
  }

  #hold(url: string, file: StoredFile): void {
    if (!this.#store.keeps) this.#held.set(url, file)
  }
}

const addressOf = (request: CacheRequest) => (request instanceof Request ? request.url : String(request))
