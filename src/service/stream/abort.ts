import { atMost, breathe } from '../../platform/index.js'

/** Until when something may take, and who hears that it was too long. */
interface Deadline {
  readonly at: number
  passed(reason: unknown): void
}

/** A clock of Node, which a process need not live for. */
interface Timer {
  ref?(): void
  unref?(): void
}

/**
 * All that may take equally long, by one clock: a clock for each would be set and cleared with every request. In Node it
 * stands by while nobody needs it.
 */
export class Deadlines {
  readonly #ms: number | undefined
  readonly #reason: (ms: number) => unknown
  /** In the order in which they began, which is that of their ends. */
  readonly #open = new Set<Deadline>()
  #clock: ReturnType<typeof setTimeout> | undefined

  /** `ms`: undefined where there is no limit. `reason`: why what took longer is given up. */
  constructor(ms: number | undefined, reason: (ms: number) => unknown) {
    this.#ms = ms
    this.#reason = reason
  }

  /** `passed` hears of it, unless the returned function is called before. */
  begin(passed: (reason: unknown) => void): () => void {
    const deadline = { at: performance.now() + (this.#ms ?? 0), passed }
    this.#open.add(deadline)
    if (this.#ms === undefined) return () => this.#open.delete(deadline)
    if (this.#clock === undefined) this.#set(this.#ms)
    else if (this.#open.size === 1) (this.#clock as Timer).ref?.()
    return () => this.#end(deadline)
  }

  /** Ends all of them now. */
  endAll(reason: unknown): void {
    for (const deadline of this.#open) {
      this.#end(deadline)
      deadline.passed(reason)
    }
  }

  #end(deadline: Deadline): void {
    if (!this.#open.delete(deadline) || this.#open.size > 0) return
    if ((this.#clock as Timer | undefined)?.unref) (this.#clock as Timer).unref!()
    else {
      clearTimeout(this.#clock)
      this.#clock = undefined
    }
  }

  #set(ms: number): void {
    this.#clock = setTimeout(this.#look, ms)
  }

  readonly #look = (): void => {
    this.#clock = undefined
    // A clock may be a millisecond early.
    const now = performance.now() + 1
    for (const deadline of this.#open) {
      if (deadline.at > now) {
        this.#set(deadline.at - now + 1)
        return
      }
      this.#open.delete(deadline)
      deadline.passed(this.#reason(this.#ms!))
    }
  }
}

/**
 * What the work comes to; or, since somebody else's may never settle, why it is not waited for any longer: the time is up,
 * or `signal` is aborted. `unless`: somebody else sees to that by then.
 */
export function inTime<T>(
  work: T | PromiseLike<T>,
  deadlines: Deadlines,
  signal?: AbortSignal,
  unless = () => false,
): T | Promise<T> {
  if (typeof (work as Partial<PromiseLike<T>> | undefined)?.then !== 'function' || unless())
    return work as T | Promise<T>
  return new Promise((resolve, reject) => {
    const leave = (reason: unknown) => {
      if (!unless()) reject(reason)
    }
    const aborted = () => leave(signal!.reason)
    // What has settled comes first, as what was refused before its client had gone.
    if (signal?.aborted) void breathe().then(aborted)
    signal?.addEventListener('abort', aborted)
    const settled = deadlines.begin(leave)
    Promise.resolve(work)
      .then(resolve, reject)
      .finally(() => {
        settled()
        signal?.removeEventListener('abort', aborted)
      })
  })
}

/**
 * One signal for the client's disconnect, the time limit and whoever calls `abort`; `aborted` hears of the first two.
 * `AbortSignal.any` would do, but it keeps a listener on each source for as long as that source lives.
 */
export class LinkedAbort {
  readonly signal: AbortSignal
  readonly #controller = new AbortController()
  readonly #source: AbortSignal
  readonly #aborted: ((reason: unknown) => void) | undefined
  readonly #inTime: () => void

  constructor(source: AbortSignal, deadlines: Deadlines, aborted?: (reason: unknown) => void) {
    this.#source = source
    this.#aborted = aborted
    this.signal = this.#controller.signal
    if (source.aborted) this.#controller.abort(source.reason)
    else source.addEventListener('abort', this.#follow, { once: true })
    this.#inTime = deadlines.begin(this.#end)
  }

  abort(reason: unknown): void {
    this.#controller.abort(reason)
  }

  /** Lets go of the source and the clock; the signal stays as it is. */
  dispose(): void {
    this.#source.removeEventListener('abort', this.#follow)
    this.#inTime()
  }

  readonly #end = (reason: unknown): void => {
    this.#controller.abort(reason)
    this.#aborted?.(reason)
  }

  readonly #follow = (): void => this.#end(this.#source.reason)
}

/**
 * How long a source that is left, or that has nothing more to say, is given to end by itself, and whatever stores how an
 * answer ended to do so.
 */
export const LEAVE_MS = 5000

type Take<T> = (value: T | undefined) => T | undefined | Promise<T | undefined>

/**
 * Pulls an iterable, and can be left at any time: a pending `ask` is given up at once, whether or not the source
 * stops. Abort the source's signal first, so that `return` finds it already stopping.
 */
export class Leavable<T> {
  readonly #iterator: AsyncIterator<T>
  readonly #take: Take<T>
  /** Of the one who waits for an answer. */
  #resolve: ((value: T | undefined) => void) | undefined
  #reject: ((reason: unknown) => void) | undefined
  #inTime: (() => void) | undefined
  /** False also where whoever asked was told of an end that had not come. */
  ended = false

  /**
   * `take` is given each value before whoever asks is, who waits for it, and hears of what it gives back or throws instead.
   */
  constructor(source: AsyncIterable<T>, take: Take<T> = (value) => value) {
    this.#take = take
    this.#iterator = source[Symbol.asyncIterator]()
  }

  /**
   * Asks for the next value, undefined at the end; one of the two is called, once, and neither may throw. One at a time.
   * `patience`: all that matters has been said, so that what does not come by then is taken for the end.
   */
  ask(resolve: (value: T | undefined) => void, reject: (reason: unknown) => void, patience?: Deadlines): void {
    this.#resolve = resolve
    this.#reject = reject
    this.#inTime = patience?.begin(() => this.#onNext({ done: true, late: true, value: undefined }))
    try {
      this.#iterator.next().then(this.#onNext, this.#broke)
    } catch (error) {
      this.#broke(error)
    }
  }

  // Made once: an answer has thousands of parts.
  readonly #onNext = (next: IteratorResult<T> & { readonly late?: true }): void => {
    if (next?.done && !next.late) this.ended = true
    const resolve = this.#resolve!
    const reject = this.#reject!
    if (!this.#settle()) return
    let given: T | undefined
    let taken: ReturnType<Take<T>>
    try {
      // An iterator of somebody else's may come to its end in its own way, or give nothing as a value.
      given = next.done ? undefined : next.value
      if (!next.done && (given === undefined || given === null)) throw new Error('The source gave nothing as a value.')
      taken = this.#take(given)
    } catch (error) {
      reject(error)
      return
    }
    if (!(taken instanceof Promise)) {
      resolve(taken)
      return
    }
    // Whoever asked may leave before it is taken in, which may be never.
    this.#resolve = resolve
    this.#reject = reject
    taken.then(
      (told) => this.#settle() && resolve(told),
      (reason) => this.#settle() && reject(reason),
    )
  }

  readonly #broke = (error: unknown): void => {
    this.ended = true
    const reject = this.#reject
    if (this.#settle()) reject!(error)
  }

  /** An engine of somebody else's may throw here, too. */
  async #return(): Promise<void> {
    await this.#iterator.return?.()
  }

  /** False where nobody waits any more. */
  #settle(): boolean {
    const waits = this.#reject !== undefined
    this.#inTime?.()
    this.#inTime = undefined
    this.#resolve = undefined
    this.#reject = undefined
    return waits
  }

  /** Settles once the source has ended, or has shown that it will not: a stuck source must not hold its slot for ever. */
  async leave(reason?: unknown): Promise<'ended' | 'stuck'> {
    // Whoever still waits would wait for ever.
    const reject = this.#reject
    if (this.#settle()) reject!(reason)
    if (this.ended) return 'ended'
    this.ended = true
    // Its own last words are of no interest: whoever leaves has an answer already.
    return endedSoon(this.#return())
  }
}

/** Of what was left, whether it ends. */
export async function endedSoon(work: Promise<unknown>): Promise<'ended' | 'stuck'> {
  const ended = work.catch(() => {})
  return (await atMost(LEAVE_MS, ended)) === 'ended' ? 'ended' : 'stuck'
}
