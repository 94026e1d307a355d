import { V1Error } from '../../contract/index.js'
import { getOrMake } from '../../platform/index.js'

export interface AdmissionLimits {
  /** Calls that may run at once. */
  readonly maxInFlight: number
  /** Calls that may wait. */
  readonly maxQueue: number
  /**
   * Bytes that waiting calls may hold.
   * @default no limit
   */
  readonly maxWaitingBytes?: number
  /**
   * All calls are one caller's: no place is kept for another.
   * @default false
   */
  readonly soleCaller?: boolean
}

/** What a call takes of the door while it waits and once it is in. */
export interface Entering {
  /**
   * Bytes that it holds while it waits.
   * @default 0
   */
  readonly bytes?: number
  /**
   * Places that it takes: as many as answers are made for it.
   * @default 1
   */
  readonly weight?: number
}

/** Gives the place back. Calling it again does nothing. */
export type Release = () => void

interface Waiter {
  readonly caller: string
  readonly bytes: number
  readonly weight: number
  start(): void
  refuse(error: V1Error): void
}

/**
 * The door to an engine: so many at once, so many in line. The next place goes to the caller who holds the fewest, and
 * among equals callers take turns, so that one who sends a hundred requests does not keep the next one waiting behind
 * all of them; a caller's own requests keep their order. Where the line is full, who has the longest one gives way.
 *
 * Nobody is sent out of a place, however long an answer is. So the last one is kept for whoever holds none: all eight
 * would otherwise be one caller's for as long as eight long answers take. A call of many answers takes as many places, as
 * far as there are so many but the last; where they are taken, whoever holds none begins all the same, as long as fewer
 * calls run than there are places.
 */
export class Admission {
  readonly #limits: AdmissionLimits
  /** In the order of turns: who was served goes to the end. */
  readonly #lines = new Map<string, Waiter[]>()
  /** Places by caller; nobody is in it with none. */
  readonly #places = new Map<string, number>()
  running = 0
  /** Places that those who run have. */
  #taken = 0
  waiting = 0
  #waitingBytes = 0
  /** A moving average, for telling how long the line will take. */
  #secondsPerCall = 1
  closed = false
  #drained: (() => void) | undefined

  constructor(limits: AdmissionLimits) {
    this.#limits = limits
  }

  /**
   * Rejects with the signal's reason when it aborts in line, and with 429 when the line is full: at once, or later, when
   * a newcomer takes the place.
   */
  enter(caller: string, signal: AbortSignal, { bytes = 0, weight = 1 }: Entering = {}): Promise<Release> | Release {
    signal.throwIfAborted()
    if (this.closed) throw new V1Error(503, 'The service is closing and takes no new requests.', { code: 'closing' })
    if (!this.#lines.has(caller) && this.#mayStart(caller, weight)) return this.#start(caller, weight)
    this.#makeRoom(caller, bytes)
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        caller,
        bytes,
        weight,
        start: () => {
          signal.removeEventListener('abort', leave)
          resolve(this.#start(caller, weight))
        },
        refuse: (error) => {
          signal.removeEventListener('abort', leave)
          reject(error)
        },
      }
      const leave = () => {
        this.#remove(waiter)
        reject(signal.reason)
      }
      signal.addEventListener('abort', leave, { once: true })
      this.#add(waiter)
      this.#goOn()
    })
  }

  /** Lets nobody in from now on; settles once everyone who was let in, or stood in line, has left. */
  close(): Promise<void> {
    this.closed = true
    if (this.running + this.waiting === 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#drained = resolve
    })
  }

  #start(caller: string, weight: number): Release {
    const taken = Math.max(1, Math.min(weight, this.#open))
    this.running++
    this.#taken += taken
    this.#places.set(caller, this.#placesOf(caller) + taken)
    const began = performance.now()
    let released = false
    return () => {
      if (released) return
      released = true
      this.#secondsPerCall += ((performance.now() - began) / 1000 - this.#secondsPerCall) / 8
      this.running--
      this.#taken -= taken
      const left = this.#placesOf(caller) - taken
      if (left > 0) this.#places.set(caller, left)
      else this.#places.delete(caller)
      this.#goOn()
      if (this.running + this.waiting === 0) this.#drained?.()
    }
  }

  #placesOf(caller: string): number {
    return this.#places.get(caller) ?? 0
  }

  /** Places that are free, but the last: that is for whoever holds none. */
  get #open(): number {
    const { maxInFlight, soleCaller } = this.#limits
    return maxInFlight - this.#taken - (soleCaller ? 0 : 1)
  }

  #mayStart(caller: string, weight: number): boolean {
    const { maxInFlight } = this.#limits
    // Of one call's many places it has one.
    if (this.#placesOf(caller) === 0) return this.running < maxInFlight
    return this.#open >= Math.min(weight, Math.max(1, maxInFlight - 1))
  }

  #goOn(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const line = this.#lines.get(next)!
      const waiter = line[0]!
      if (!this.#mayStart(next, waiter.weight)) return
      this.#remove(waiter)
      if (this.#lines.delete(next)) this.#lines.set(next, line)
      waiter.start()
    }
  }

  #next(): string | undefined {
    let next: string | undefined
    for (const caller of this.#lines.keys()) {
      if (next === undefined || this.#placesOf(caller) < this.#placesOf(next)) next = caller
    }
    return next
  }

  #add(waiter: Waiter): void {
    getOrMake(this.#lines, waiter.caller, () => []).push(waiter)
    this.waiting++
    this.#waitingBytes += waiter.bytes
  }

  #remove(waiter: Waiter): void {
    const line = this.#lines.get(waiter.caller)!
    line.splice(line.indexOf(waiter), 1)
    if (line.length === 0) this.#lines.delete(waiter.caller)
    this.waiting--
    this.#waitingBytes -= waiter.bytes
  }

  /** Sends away the last of the longest lines until one more can wait: nobody, where the caller's own is the longest. */
  #makeRoom(caller: string, bytes: number): void {
    const { maxQueue, maxWaitingBytes = Number.POSITIVE_INFINITY } = this.#limits
    const lines = new Map([...this.#lines].map(([name, line]) => [name, [...line]]))
    const going: Waiter[] = []
    let count = this.waiting + 1
    let held = this.#waitingBytes + bytes
    while (count > maxQueue || held > maxWaitingBytes) {
      const size = count > maxQueue ? (line: readonly Waiter[]) => line.length : bytesOf
      const more = count > maxQueue ? 1 : bytes
      let longest: Waiter[] = []
      for (const line of lines.values()) if (size(line) > size(longest)) longest = line
      // Nobody gives way to a caller who would then have the longer line.
      if (size(longest) <= size(lines.get(caller) ?? []) + more) throw this.#full()
      const last = longest.pop()!
      going.push(last)
      count--
      held -= last.bytes
    }
    for (const waiter of going) {
      this.#remove(waiter)
      waiter.refuse(this.#full())
    }
  }

  #full(): V1Error {
    const { maxInFlight, maxQueue } = this.#limits
    const seconds = (this.#secondsPerCall * (this.waiting + 1)) / maxInFlight
    const retryAfter = Math.min(60, Math.max(1, Math.ceil(seconds)))
    const full = `The queue is full: ${this.running} requests are running and ${this.waiting} of at most ${maxQueue} are waiting.`
    return new V1Error(429, `${full} Try again in ${retryAfter} s.`, { code: 'queue_full', retryAfter })
  }
}

const bytesOf = (line: readonly Waiter[]) => line.reduce((sum, { bytes }) => sum + bytes, 0)
