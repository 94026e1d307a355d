/** How long whoever leaves waits for the source to end by itself. */
const LEAVE_MS = 5000

/**
 * Pulls an iterable, and can be left at any time: a pending `next` is given up at once, whether or not the source
 * stops. Abort the source's signal first, so that `return` finds it already stopping.
 */
export class Leavable<T> {
  readonly #iterator: AsyncIterator<T>
  #reject: ((reason: unknown) => void) | undefined
  #ended = false

  constructor(source: AsyncIterable<T>) {
    this.#iterator = source[Symbol.asyncIterator]()
  }

  /** The next value; undefined at the end. */
  next(): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      this.#reject = reject
      this.#iterator.next().then(
        ({ done, value }) => {
          if (done) this.#ended = true
          resolve(done ? undefined : value)
        },
        (error: unknown) => {
          this.#ended = true
          reject(error)
        },
      )
    })
  }

  /** Settles once the source has ended, or has shown that it will not: a stuck source must not hold its slot for ever. */
  async leave(reason?: unknown): Promise<'ended' | 'stuck'> {
    // A read that still waits would wait for ever.
    this.#reject?.(reason)
    if (this.#ended) return 'ended'
    this.#ended = true
    let timer: ReturnType<typeof setTimeout> | undefined
    const patience = new Promise<'stuck'>((resolve) => {
      timer = setTimeout(resolve, LEAVE_MS, 'stuck')
    })
    // Its own last words are of no interest: whoever leaves has an answer already.
    const ended = Promise.resolve(this.#iterator.return?.()).then(
      () => 'ended' as const,
      () => 'ended' as const,
    )
    try {
      return await Promise.race([ended, patience])
    } finally {
      clearTimeout(timer)
    }
  }
}
