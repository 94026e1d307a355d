import type { Sampled, SampleSettings } from '../../contract/index.js'
import type { Lane, LaneScores } from './lane.js'
import { GREEDY } from './sampling.js'

/** Tokens that are read to be asked about, and never written. */
export abstract class ReadingLane implements Lane {
  abstract readonly tokens: readonly number[]
  abstract readonly promptLength: number
  /** It holds what others go on from, and reads nothing itself. */
  paused = false
  finished = false
  readonly foreseeable = false
  readonly remaining = 1
  readonly #failed: (error: unknown) => void

  constructor(failed: (error: unknown) => void) {
    this.#failed = failed
  }

  get scores(): LaneScores | undefined {
    return undefined
  }

  get kept(): number {
    return this.tokens.length
  }

  settings(): SampleSettings {
    return GREEDY
  }

  abstract take(sampled: Sampled): void

  settle(): void {}

  cached(_tokens: number): void {}

  fail(error: unknown): void {
    this.finished = true
    this.#failed(error)
  }
}

/** Reads the draw that would come after some tokens, beside the answers that are written. */
export class ReadLane extends ReadingLane {
  readonly tokens: readonly number[]
  readonly #settings: SampleSettings
  readonly #read: (sampled: Sampled) => void

  constructor(
    tokens: readonly number[],
    settings: SampleSettings,
    read: (sampled: Sampled) => void,
    failed: (error: unknown) => void,
  ) {
    super(failed)
    this.tokens = tokens
    this.#settings = settings
    this.#read = read
  }

  /** It is a prompt throughout. */
  get promptLength(): number {
    return this.tokens.length + 2
  }

  /** Nothing of it is. */
  override get kept(): number {
    return this.finished ? 0 : this.tokens.length
  }

  override settings(): SampleSettings {
    return this.#settings
  }

  take(sampled: Sampled): void {
    this.finished = true
    this.#read(sampled)
  }
}
