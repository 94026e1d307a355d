import type { LoadProgress } from '../../src/index.js'

/** Whether the browser keeps the site's data; asks for it once there is something to keep. */
export class KeptData {
  readonly #ask: boolean
  #persisted = false
  #downloaded = false

  constructor(ask: boolean) {
    this.#ask = ask
  }

  get persisted(): boolean {
    return this.#persisted
  }

  async look(): Promise<void> {
    this.#persisted = await said(() => navigator.storage.persisted())
  }

  /** Some browsers ask the user: not before he has asked for a model himself. */
  follow({ phase }: LoadProgress): void {
    if (phase === 'download') this.#downloaded = true
    if (phase !== 'ready' || !this.#downloaded || !this.#ask || this.#persisted) return
    this.#downloaded = false
    void said(() => navigator.storage.persist()).then((persisted) => {
      this.#persisted = persisted
    })
  }
}

async function said(ask: () => Promise<boolean>): Promise<boolean> {
  try {
    return await ask()
  } catch {
    return false
  }
}
