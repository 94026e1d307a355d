import type { LoadProgress } from '../../src/index.js'

/** In `localStorage`, where the browser was asked before. */
const ASKED_KEY = 'local-v1: asked to keep the data'
/** Less is there again in a moment; nobody is asked for the sake of the embedded model, which comes with the page. */
const WORTH_ASKING_BYTES = 32_000_000

/** Whether the browser keeps the site's data; asks for it once there is something to keep. */
export class KeptData {
  readonly #ask: boolean
  #persisted = false
  #isLarge = false

  constructor(ask: boolean) {
    this.#ask = ask
  }

  get persisted(): boolean {
    return this.#persisted
  }

  async look(): Promise<void> {
    this.#persisted = await granted(() => navigator.storage.persisted())
  }

  /** Some browsers ask the user: not before he has asked for a model himself. */
  follow({ phase, bytesTotal }: LoadProgress): void {
    if (phase === 'download') this.#isLarge = bytesTotal >= WORTH_ASKING_BYTES
    if (phase !== 'ready' || !this.#isLarge || !this.#ask || this.#persisted) return
    this.#isLarge = false
    void granted(askOnce).then((persisted) => {
      this.#persisted = persisted
    })
  }
}

/**
 * Whoever was asked and declined is not asked again on each visit that loads a model. Chromium asks nobody: it decides by
 * how much the site is used, and may agree on a later visit to what it did not on the first.
 */
async function askOnce(): Promise<boolean> {
  const decidesAlone = 'userAgentData' in navigator
  if (!decidesAlone && localStorage.getItem(ASKED_KEY) !== null) return false
  localStorage.setItem(ASKED_KEY, new Date().toISOString())
  return navigator.storage.persist()
}

async function granted(ask: () => Promise<boolean>): Promise<boolean> {
  try {
    return await ask()
  } catch {
    return false
  }
}
