import type { Found, How, Wanted } from '../worker/look-messages.js'
import { askAt, events } from './api.js'
import type { Finder } from './finder.js'

/** At the server that the page came from, which knows the models of its machine: Ollama's, LM Studio's, its own. */
export class ServerFinder implements Finder {
  readonly takesFiles = false
  readonly names = 'ollama:name:tag, lmstudio:owner/name, or owner/name:Q4_K_M at Hugging Face'
  readonly here: Finder['here']

  private constructor(here: Finder['here']) {
    this.here = here
  }

  /** Undefined where the server lets this page add none. */
  static async open(): Promise<ServerFinder | undefined> {
    try {
      const { here } = (await (await askAt('/playground/models')).json()) as { here: Finder['here'] }
      return new ServerFinder(here)
    } catch {
      return undefined
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
    const loading = await askAt('/playground/models', { model, contextLength, cacheType, quantize })
    for await (const { bytes_loaded, bytes_total } of events<{ bytes_loaded: number; bytes_total: number }>(loading)) {
      onProgress(bytes_loaded, bytes_total)
    }
    return found.id
  }
}

const nameIn = (wanted: Wanted): string =>
  typeof wanted === 'string' ? wanted.trim().replace(/^https:\/\/(huggingface\.co|hf\.co)\//, '') : ''
