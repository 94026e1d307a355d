/** Parts between the loop that makes them and the reader of one call. */
export class PartQueue<Part> {
  readonly #limit: number
  readonly #onDrained: () => void
  /** Those that have not ended. */
  #writers: number
  #parts: Part[] = []
  #ended = false
  #failure: { readonly error: unknown } | undefined
  #wake: (() => void) | undefined

  /**
   * Above `limit` unread parts the queue is `behind`; `onDrained` is called once it no longer is. So many `writers` must
   * come to their end.
   */
  constructor(limit: number, onDrained: () => void, writers = 1) {
    this.#writers = writers
    this.#limit = limit
    this.#onDrained = onDrained
  }

  get behind(): boolean {
    return this.#parts.length > this.#limit
  }

  push(part: Part): void {
    this.#parts.push(part)
    this.#notify()
  }

  /** One of the writers has come to its end. */
  end(): void {
    if (--this.#writers > 0) return
    this.#ended = true
    this.#notify()
  }

  fail(error: unknown): void {
    if (this.#ended || this.#failure) return
    this.#failure = { error }
    this.#notify()
  }

  /** The parts that have come since the last call, in order; undefined after the last. Parts come before an error. */
  async take(): Promise<readonly Part[] | undefined> {
    for (;;) {
      if (this.#parts.length > 0) {
        const parts = this.#parts
        const drained = this.behind
        this.#parts = []
        if (drained) this.#onDrained()
        return parts
      }
      if (this.#failure) throw this.#failure.error
      if (this.#ended) return undefined
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  #notify(): void {
    const wake = this.#wake
    this.#wake = undefined
    wake?.()
  }
}
