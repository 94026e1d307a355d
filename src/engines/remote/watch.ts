import type { Doing, Pulse } from '../../platform/pulse.js'

/** Looks that find no life before a thread is taken to stand for ever. */
const LOOKS = 20
/** So many times as long for one that has not begun: on a busy machine its script takes a while to be read. */
const TO_BEGIN = 6

export interface WatchOptions {
  readonly pulse: Pulse
  /** How long it may show no life, in milliseconds. */
  readonly standsMs: number
  /** Hears what it was at. */
  readonly stands: (doing: Doing | undefined) => void
}

/**
 * Looks at a thread that has something to do. Looks are counted, not the time between them: a computer that slept, or a
 * thread of ours that stood itself, says nothing about the other one.
 */
export class Watch {
  readonly #options: WatchOptions
  #timer: ReturnType<typeof setInterval> | undefined
  #seen = 0
  #looks = 0

  constructor(options: WatchOptions) {
    this.#options = options
  }

  begin(): void {
    const { pulse, standsMs } = this.#options
    this.end()
    this.#seen = pulse.beats
    this.#looks = 0
    this.#timer = setInterval(() => this.#look(), standsMs / LOOKS)
    // Whoever waits for it keeps the process alive.
    ;(this.#timer as { unref?(): void }).unref?.()
  }

  end(): void {
    clearInterval(this.#timer)
  }

  #look(): void {
    const { pulse, stands } = this.#options
    const { beats } = pulse
    this.#looks = beats === this.#seen ? this.#looks + 1 : 0
    this.#seen = beats
    if (this.#looks < (beats === 0 ? TO_BEGIN * LOOKS : LOOKS)) return
    this.end()
    stands(pulse.doing)
  }
}
