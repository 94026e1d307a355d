import { atItsEnd } from './at-its-end.js'
import type { Routed } from './pages-alone.js'

/** The service worker's own service: it answers while no tab runs the engine, and takes no memory once one does. */
export class OwnService {
  readonly #v1: Routed
  readonly #loaded = new Set<string>()
  #running = 0

  constructor(v1: Routed) {
    this.#v1 = v1
    v1.watchLoads(({ model }) => this.#loaded.add(model))
  }

  async fetch(request: Request): Promise<Response> {
    this.#running++
    // It never rejects.
    return atItsEnd(await this.#v1.fetch(request), () => void this.#running--)
  }

  /** A tab has the engine now; what still streams from here keeps its model. */
  rest(): void {
    if (this.#running > 0) return
    for (const model of this.#loaded) this.#v1.unload(model).catch(() => {})
    this.#loaded.clear()
  }
}
