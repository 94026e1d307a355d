import { abortable } from '../../platform/index.js'
import { download, type Fetch } from './download.js'
import { broken, damaged, unreachable } from './failure.js'
import type { RepositoryFiles, WantedFile } from './files.js'
import { fetchHead } from './head.js'
import { hashNamedBySource, noteHash } from './named-hash.js'
import { carefully } from './redirects.js'
import { isFull, storageFull } from './storage.js'
import type { FileStore, StoredFile } from './store/store.js'
import { within } from './within.js'

export interface RemoteFilesOptions {
  /** @default the platform's */
  readonly fetch?: Fetch
  /** Hears why a download is tried again. */
  readonly onRetry?: (message: string) => void
  /** Hears of a file that could not be kept. */
  readonly warn?: ((message: string) => void) | undefined
  /** The one file that the model is in, where it was named. */
  readonly file?: string
}

/** Files that are being fetched, by address: who wants one meanwhile finds it stored, and writes none beside it. */
const coming = new Map<string, Promise<void>>()

/** A repository at an address; its files are downloaded once and kept in the store. */
export class RemoteFiles implements RepositoryFiles {
  readonly place: string
  readonly phase = 'download'
  declare readonly file?: string
  readonly #store: FileStore
  readonly #fetch: Fetch
  readonly #onRetry: ((message: string) => void) | undefined
  readonly #warn: (message: string) => void
  readonly #held = new Map<string, StoredFile>()
  /** Of files of which a server has told it. */
  readonly #sizes = new Map<string, number>()
  /** Some file was here from an earlier load: the repository may be in use without a network. */
  #known = false

  /** `base` ends with a slash. */
  constructor(base: string, store: FileStore, { fetch, onRetry, warn = () => {}, file }: RemoteFilesOptions = {}) {
    this.place = base
    if (file !== undefined) this.file = file
    this.#store = store
    this.#fetch = carefully(fetch ?? ((url, init) => globalThis.fetch(url, init)))
    this.#onRetry = onRetry
    this.#warn = warn
  }

  async text(name: string, signal: AbortSignal): Promise<string | undefined> {
    const file = await this.#get({ name }, () => {}, signal).catch((error: unknown) => {
      signal.throwIfAborted()
      // Files that were never there cannot be kept: without a network, what is not here is taken for absent.
      if (this.#known) return undefined
      throw error
    })
    return file && new TextDecoder().decode(await file.slice(0, file.bytes))
  }

  async fetch(file: WantedFile, onBytes: (bytes: number) => void, signal: AbortSignal): Promise<void> {
    const { name, least = 0 } = file
    const url = this.#urlOf(name)
    const here = await this.#store.read(url)
    const weak = file.md5 === undefined || this.#store.asksForHashes === true
    const unnamed = weak && file.sha256 === undefined && !here
    const known = unnamed ? await hashNamedBySource(url, this.#fetch, signal) : undefined
    const bytes = file.bytes ?? known?.bytes ?? this.#sizes.get(name)
    if ((bytes ?? least) < least) {
      throw damaged(this.place, `${name} is incomplete: the server has ${bytes} of at least ${least} bytes.`)
    }
    const held = await this.#get({ ...known, ...file, bytes }, onBytes, signal)
    if (held && held.bytes < least) {
      throw damaged(this.place, `${name} is incomplete: it has ${held.bytes} of at least ${least} bytes.`)
    }
    if (known?.sha256 !== undefined) await noteHash(this.#store, url, known.sha256)
    if (!held) throw broken(this.place, `the server has no ${file.name}: check the name, or choose another model.`)
    this.#held.set(file.name, held)
  }

  async head(name: string, from: number, to: number, signal: AbortSignal): Promise<Uint8Array> {
    const url = this.#urlOf(name)
    const stored = await this.#store.read(url)
    if (stored) return stored.slice(from, to)
    const { bytes, total } = await fetchHead(url, from, to, this.#fetch, signal)
    if (total !== undefined) this.#sizes.set(name, total)
    return bytes
  }

  async slice(name: string, from: number, to: number, into?: Uint8Array): Promise<Uint8Array> {
    const bytes = await this.#held
      .get(name)!
      .slice(from, to, into)
      .catch((error: unknown) => {
        throw this.#orRemoved(name, error)
      })
    if (bytes.length < to - from) throw unreachable(this.place, `${name} is no longer complete in the cache.`)
    return bytes
  }

  pathOf(name: string): string | undefined {
    return this.#store.pathOf?.(this.#urlOf(name))
  }

  /** `models remove`, here or of another process, may have deleted it meanwhile. */
  #orRemoved(name: string, error: unknown): unknown {
    const isGone = (error as { code?: unknown } | null)?.code === 'ENOENT'
    return isGone ? unreachable(this.place, `${name} was removed from the cache meanwhile. Ask again.`, error) : error
  }

  #urlOf(name: string): string {
    return new URL(within(this.place, name), this.place).href
  }

  release(name: string): void {
    this.#held.delete(name)
  }

  async #get(file: WantedFile, onBytes: (bytes: number) => void, signal: AbortSignal): Promise<StoredFile | undefined> {
    const url = this.#urlOf(file.name)
    for (let other = coming.get(url); other; other = coming.get(url)) await abortable(other, signal)
    const getting = this.#fetched(url, file, onBytes, signal)
    const gone = () => void coming.delete(url)
    coming.set(url, getting.then(gone, gone))
    return getting
  }

  async #fetched(
    url: string,
    file: WantedFile,
    onBytes: (bytes: number) => void,
    signal: AbortSignal,
  ): Promise<StoredFile | undefined> {
    const stored = await this.#store.read(url, file.sha256)
    if (stored && stored.bytes === (file.bytes ?? stored.bytes)) {
      this.#known = true
      onBytes(stored.bytes)
      return stored
    }
    const writer = await this.#store.write(url, file.sha256)
    try {
      const found = await download({ url, file, writer, fetch: this.#fetch, onBytes, onRetry: this.#onRetry, signal })
      if (found) {
        const held = await writer.commit()
        void held.fleeting?.then((is) => {
          if (is) this.#warn(`There was no room to store ${url}: it is downloaded again next time.`)
        })
        return held
      }
      await writer.restart()
      return undefined
    } catch (error) {
      if (!isFull(error)) throw this.#orRemoved(file.name, error)
      const left = Math.max(1, (file.bytes ?? file.least ?? 0) - writer.written)
      throw await storageFull(this.#store, this.place, { bytes: left, room: await this.#store.room() })
    } finally {
      await writer.close()
    }
  }
}
