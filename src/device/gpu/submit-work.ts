/** Multiplications after which a pass hands over what it has recorded. */

/** A tenth of a second of a slow GPU: long enough, and no watchdog takes it for hung. */
const LEAST = 2 ** 33
const MOST = 2 ** 40
const MILLISECONDS = 100

export class SubmitWork {
  readonly #fixed: boolean
  #most: number

  /** `fixed`: so many, however quick the GPU is. */
  constructor(fixed?: number) {
    this.#fixed = fixed !== undefined
    this.#most = fixed ?? LEAST
  }

  get most(): number {
    return this.#most
  }

  /**
   * A pass of so many multiplications took so long, whatever it waited for: the GPU is no slower than that. A submit costs
   * a quick GPU more than what is in it, if that is what a slow one needs its time for.
   */
  took(multiplications: number, milliseconds: number): void {
    if (this.#fixed || multiplications < LEAST || milliseconds <= 0) return
    const shown = (multiplications / milliseconds) * MILLISECONDS
    this.#most = Math.min(MOST, Math.max(LEAST, shown))
  }
}
