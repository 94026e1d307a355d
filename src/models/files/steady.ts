/** Of so long a wait, in milliseconds, so many bytes must come: a kilobyte a second, of which no model could be loaded. */
const WAIT_MS = 30_000
const LEAST = 30 * 1024
const LOOK_MS = 5000

/**
 * Reads a body that keeps coming. One that has stopped, or comes so slowly that it might go on for days, is left as if its
 * connection had broken: models are loaded one after the other, and the next one waits for it. What whoever reads does
 * between two pieces does not count.
 */
export class SteadyReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>
  readonly #timer: ReturnType<typeof setInterval>
  /** When the piece was asked for that has not come yet. */
  #requestedAt: number | undefined
  #waited = 0
  #bytes = 0
  #slow = false

  constructor(body: ReadableStream<Uint8Array>) {
    this.#reader = body.getReader()
    this.#timer = setInterval(this.#look, LOOK_MS)
  }

  async read(): Promise<ReadableStreamReadResult<Uint8Array>> {
    this.#requestedAt = performance.now()
    const piece = await this.#reader.read()
    if (this.#slow) throw new Error('too few bytes came')
    this.#waited += performance.now() - this.#requestedAt
    this.#requestedAt = undefined
    this.#bytes += piece.value?.length ?? 0
    if (this.#bytes >= LEAST) {
      this.#bytes = 0
      this.#waited = 0
    }
    return piece
  }

  /** To be called in the end; nothing more of the body comes. */
  leave(): void {
    clearInterval(this.#timer)
    this.#reader.cancel().catch(() => {})
  }

  readonly #look = (): void => {
    const waits = this.#requestedAt === undefined ? 0 : performance.now() - this.#requestedAt
    if (this.#waited + waits < WAIT_MS) return
    this.#slow = true
    // Whoever waits for a piece hears of it.
    this.leave()
  }
}
