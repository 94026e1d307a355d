import type { Sampled, SampleSettings } from '../../contract/index.js'
import type { Lane } from '../answer/lane.js'

/** Reads the draw that would come after some tokens, beside the answers that are written. */
export class ReadLane implements Lane {
  readonly tokens: readonly number[]
  readonly scores = undefined
  readonly paused = false
  readonly foreseeable = false
  readonly remaining = 1
  finished = false
  readonly #settings: SampleSettings
  readonly #read: (sampled: Sampled) => void
  readonly #failed: (error: unknown) => void

  constructor(
    tokens: readonly number[],
    settings: SampleSettings,
    read: (sampled: Sampled) => void,
    failed: (error: unknown) => void,
  ) {
    this.tokens = tokens
    this.#settings = settings
    this.#read = read
    this.#failed = failed
  }

  /** It is a prompt throughout. */
  get promptLength(): number {
    return this.tokens.length + 2
  }

  /** Nothing of it is. */
  get kept(): number {
    return this.finished ? 0 : this.tokens.length
  }

  settings(): SampleSettings {
    return this.#settings
  }

  take(sampled: Sampled): void {
    this.finished = true
    this.#read(sampled)
  }

  settle(): void {}

  cached(): void {}

  fail(error: unknown): void {
    this.finished = true
    this.#failed(error)
  }
}
