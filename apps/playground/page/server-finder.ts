import { CATALOG, NANO } from '../../../src/models/catalog.js'
import type { Found, How, Wanted } from '../worker/look-messages.js'
import { askAt, events, type Model } from './api.js'
import type { Finder } from './finder.js'
import type { Offers } from './models.js'

/** At the server that the page came from, which knows the models of its machine: Ollama's, LM Studio's, its own. */
export class ServerFinder implements Finder {
  readonly takesFiles = false
  readonly names = 'ollama:name:tag, lmstudio:owner/name, or owner/name:Q4_K_M from Hugging Face'
  readonly here: Finder['here']
  /** Bytes of memory that models may take there. */
  readonly free: number | undefined

  private constructor({ here, free }: ServerSays) {
    this.here = here
    this.free = free
  }

  /** Undefined where the server lets this page add none. */
  static async open(): Promise<ServerFinder | undefined> {
    try {
      return new ServerFinder((await (await askAt('/playground/models')).json()) as ServerSays)
    } catch {
      return undefined
    }
  }

  /** The catalogue, of which the server serves what somebody has downloaded. */
  get offers(): Offers {
    const here = new Set(this.here.map(({ name }) => name))
    const offered = CATALOG.filter(({ id }) => id !== NANO)
    const models = offered.map(
      ({ id, from, downloadBytes, memoryBytes }): Model => ({
        id,
        offered: true,
        metadata: { download_bytes: downloadBytes, memory_bytes: memoryBytes, kept: here.has(from) },
      }),
    )
    return {
      models,
      async add(id, onProgress, signal) {
        const { from, contextLength } = offered.find((each) => each.id === id)!
        await adding({ model: from, contextLength }, onProgress, signal)
      },
    }
  }

  async look(wanted: Wanted, how: How = {}): Promise<Found> {
    return (await (await askAt('/playground/look', { model: nameIn(wanted), ...how })).json()) as Found
  }

  async add(
    found: Found,
    _: Wanted,
    { cacheType, quantize }: How,
    onProgress: (done: number, of: number) => void,
  ): Promise<string> {
    const { from: model, contextLength } = found
    await adding({ model, contextLength, cacheType, quantize }, onProgress)
    return found.id
  }
}

interface ServerSays {
  readonly here: Finder['here']
  readonly free?: number
}

/** Ends with the model in the server's list; a reader who leaves stops it. */
async function adding(body: object, onProgress: (done: number, of: number) => void, signal?: AbortSignal) {
  const loading = await askAt('/playground/models', body, signal)
  for await (const { bytes_loaded, bytes_total } of events<{ bytes_loaded: number; bytes_total: number }>(loading)) {
    onProgress(bytes_loaded, bytes_total)
  }
}

const nameIn = (wanted: Wanted): string =>
  typeof wanted === 'string' ? wanted.trim().replace(/^https:\/\/(huggingface\.co|hf\.co)\//, '') : ''
