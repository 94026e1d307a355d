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
  begin(passed: (reason: unknown) => void): (() => void) | undefined {
    if (this.#ms === undefined) return undefined
    const deadline = { at: performance.now() + this.#ms, passed }
    this.#open.add(deadline)
    if (this.#clock === undefined) this.#set(this.#ms)
    else if (this.#open.size === 1) (this.#clock as Timer).ref?.()
    return () => this.#end(deadline)
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
 * One signal for the client's disconnect, the time limit and whoever calls `abort`; `aborted` hears of the first two.
 * `AbortSignal.any` would do, but it keeps a listener on each source for as long as that source lives.
 */
export class LinkedAbort {
  readonly signal: AbortSignal
  readonly #controller = new AbortController()
  readonly #source: AbortSignal
  readonly #aborted: ((reason: unknown) => void) | undefined
  readonly #inTime: (() => void) | undefined

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
    this.#inTime?.()
  }

  readonly #end = (reason: unknown): void => {
    this.#controller.abort(reason)
    this.#aborted?.(reason)
  }

  readonly #follow = (): void => this.#end(this.#source.reason)
}
