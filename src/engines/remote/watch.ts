import type { Doing, Pulse } from '../../platform/index.js'

/** Looks that find no life before a thread is taken to stand for ever. */
const LOOKS = 20
/** So many times as long for one that has not begun: on a busy machine its script takes a while to be read. */
const TO_BEGIN = 6
/** So many times as long for one that shows no life and computes nothing: it waits for a processor, or for good. */
const IDLE = 6

export interface WatchOptions {
  readonly pulse: Pulse
  /** How long it may show no life, in milliseconds. */
  readonly standsMs: number
  /** Hears what it was at, and how long it has stood. */
  readonly stands: (doing: Doing | undefined, ms: number) => void
  /**
   * Milliseconds of processors that all threads of this process have had; undefined: nobody knows.
   * @default what the runtime says
   */
  readonly computed?: () => number | undefined
}

/**
 * Looks at a thread that has something to do. Looks are counted, not the time between them: a computer that slept, or a
 * thread of ours that stood itself, says nothing about the other one. Nor does a machine that has no processor for it:
 * who computes without end has computed for as long, and no thread has had more of that than all of them.
 */
export class Watch {
  readonly #options: WatchOptions
  readonly #computed: () => number | undefined
  #timer: ReturnType<typeof setInterval> | undefined
  #seen = 0
  #looks = 0
  /** What had been computed when life was last seen. */
  #before: number | undefined

  constructor(options: WatchOptions) {
    this.#options = options
    this.#computed = options.computed ?? computedHere
  }

  begin(): void {
    const { pulse, standsMs } = this.#options
    this.end()
    this.#alive(pulse.beats)
    this.#timer = setInterval(() => this.#look(), standsMs / LOOKS)
    // Whoever waits for it keeps the process alive.
    ;(this.#timer as { unref?(): void }).unref?.()
  }

  end(): void {
    clearInterval(this.#timer)
  }

  #alive(beats: number): void {
    this.#seen = beats
    this.#looks = 0
    this.#before = this.#computed()
  }

  #look(): void {
    const { pulse, standsMs, stands } = this.#options
    const { beats } = pulse
    if (beats !== this.#seen) {
      this.#alive(beats)
      return
    }
    this.#looks++
    const times = beats === 0 ? TO_BEGIN : 1
    const computed = this.#computed()
    const idle = computed !== undefined && computed - this.#before! < times * standsMs
    if (this.#looks < times * LOOKS * (idle ? IDLE : 1)) return
    this.end()
    stands(pulse.doing, (this.#looks * standsMs) / LOOKS)
  }
}

/** A page does not say. */
function computedHere(): number | undefined {
  const { process } = globalThis as { process?: { cpuUsage?(): { readonly user: number; readonly system: number } } }
  const spent = process?.cpuUsage?.()
  return spent && (spent.user + spent.system) / 1000
}
