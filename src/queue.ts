import { V1Error } from './errors.js'

export interface AdmissionLimits {
  /** Calls that may run at once. */
  readonly maxInFlight: number
  /** Calls that may wait; one more is refused. */
  readonly maxQueue: number
}

/** Gives the place back. Calling it again does nothing. */
export type Release = () => void

interface Waiter {
  readonly caller: string
  start(): void
}

/**
 * The door to an engine: so many at once, so many in line. Callers take turns, so that one who sends a hundred
 * requests does not keep the next one waiting behind all of them; a caller's own requests keep their order.
 */
export class Admission {
  readonly #limits: AdmissionLimits
  /** In the order of turns: the first caller is next, and goes to the end after that. */
  readonly #lines = new Map<string, Waiter[]>()
  #running = 0
  #waiting = 0
  /** A moving average, for telling how long the line will take. */
  #secondsPerCall = 1
  #closed = false
  #drained: (() => void) | undefined

  constructor(limits: AdmissionLimits) {
    this.#limits = limits
  }

  get closed(): boolean {
    return this.#closed
  }

  get running(): number {
    return this.#running
  }

  get waiting(): number {
    return this.#waiting
  }

  /** Rejects with the signal's reason when it aborts in line, and with 429 when the line is full. */
  enter(caller: string, signal: AbortSignal): Promise<Release> | Release {
    signal.throwIfAborted()
    if (this.#closed) throw new V1Error(503, 'The service is closing and takes no new requests.', { code: 'closing' })
    if (this.#running < this.#limits.maxInFlight) return this.#start()
    if (this.#waiting >= this.#limits.maxQueue) throw this.#full()
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        caller,
        start: () => {
          signal.removeEventListener('abort', leave)
          resolve(this.#start())
        },
      }
      const leave = () => {
        this.#remove(waiter)
        reject(signal.reason)
      }
      signal.addEventListener('abort', leave, { once: true })
      const line = this.#lines.get(caller)
      if (line) line.push(waiter)
      else this.#lines.set(caller, [waiter])
      this.#waiting++
    })
  }

  /** Lets nobody in from now on; settles once everyone who was let in, or stood in line, has left. */
  close(): Promise<void> {
    this.#closed = true
    if (this.#running + this.#waiting === 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#drained = resolve
    })
  }

  #start(): Release {
    this.#running++
    const began = performance.now()
    let released = false
    return () => {
      if (released) return
      released = true
      this.#secondsPerCall += ((performance.now() - began) / 1000 - this.#secondsPerCall) / 8
      this.#running--
      this.#next()
      if (this.#running + this.#waiting === 0) this.#drained?.()
    }
  }

  #next(): void {
    const turn = this.#lines.entries().next()
    if (turn.done) return
    const [caller, line] = turn.value
    const waiter = line.shift()!
    this.#waiting--
    this.#lines.delete(caller)
    if (line.length > 0) this.#lines.set(caller, line)
    waiter.start()
  }

  #remove(waiter: Waiter): void {
    const line = this.#lines.get(waiter.caller)!
    line.splice(line.indexOf(waiter), 1)
    if (line.length === 0) this.#lines.delete(waiter.caller)
    this.#waiting--
  }

  #full(): V1Error {
    const { maxInFlight, maxQueue } = this.#limits
    const seconds = (this.#secondsPerCall * (this.#waiting + 1)) / maxInFlight
    const retryAfter = Math.min(60, Math.max(1, Math.ceil(seconds)))
    const full = `The queue is full: ${maxInFlight} requests are running and ${maxQueue} are waiting.`
    return new V1Error(429, `${full} Try again in ${retryAfter} s.`, { code: 'queue_full', retryAfter })
  }
}
