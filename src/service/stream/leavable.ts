import { atMost } from '../../platform/index.js'

/** How long whoever leaves waits for the source to end by itself. */
const LEAVE_MS = 5000

/**
 * Pulls an iterable, and can be left at any time: a pending `ask` is given up at once, whether or not the source
 * stops. Abort the source's signal first, so that `return` finds it already stopping.
 */
export class Leavable<T> {
  readonly #iterator: AsyncIterator<T>
  /** Of the one who waits for an answer. */
  #heard: ((value: T | undefined) => void) | undefined
  #failed: ((reason: unknown) => void) | undefined
  #ended = false

  constructor(source: AsyncIterable<T>) {
    this.#iterator = source[Symbol.asyncIterator]()
  }

  /** Whether there is nothing more to come, and nothing to leave. */
  get ended(): boolean {
    return this.#ended
  }

  /**
   * Asks for the next value, undefined at the end; one of the two is called, once, and neither may throw. One at a time.
   */
  ask(heard: (value: T | undefined) => void, failed: (reason: unknown) => void): void {
    this.#heard = heard
    this.#failed = failed
    this.#next().then(this.#told, this.#broke)
  }

  // Made once: an answer has thousands of parts.
  readonly #told = ({ done, value }: IteratorResult<T>): void => {
    if (done) this.#ended = true
    const heard = this.#heard
    if (this.#settle()) heard!(done ? undefined : value)
  }

  readonly #broke = (error: unknown): void => {
    this.#ended = true
    const failed = this.#failed
    if (this.#settle()) failed!(error)
  }

  #next(): Promise<IteratorResult<T>> {
    try {
      return this.#iterator.next()
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** An engine of somebody else's may throw here, too. */
  async #return(): Promise<void> {
    await this.#iterator.return?.()
  }

  /** False where nobody waits any more. */
  #settle(): boolean {
    const waits = this.#failed !== undefined
    this.#heard = undefined
    this.#failed = undefined
    return waits
  }

  /** Settles once the source has ended, or has shown that it will not: a stuck source must not hold its slot for ever. */
  async leave(reason?: unknown): Promise<'ended' | 'stuck'> {
    // Whoever still waits would wait for ever.
    const failed = this.#failed
    if (this.#settle()) failed!(reason)
    if (this.#ended) return 'ended'
    this.#ended = true
    // Its own last words are of no interest: whoever leaves has an answer already.
    const ended = this.#return().catch(() => {})
    return (await atMost(LEAVE_MS, ended)) === 'ended' ? 'ended' : 'stuck'
  }
}
