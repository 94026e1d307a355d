/**
 * Times that a busy machine does not lengthen. Linux counts for each thread how long it had a processor and how long it
 * was ready and waited for one; what is left of the clock is what somebody was kept waiting for. Elsewhere there is only
 * the clock.
 */
import { readdirSync, readFileSync } from 'node:fs'

export interface Time {
  /** By the clock. */
  readonly clock: number
  /** What the server worked meanwhile, and what it was idle although it was asked. */
  readonly own: number
}

interface Spent {
  readonly worked: number
  readonly waited: number
}
const NOTHING: Spent = { worked: 0, waited: 0 }

/** Of a thread, in milliseconds. */
function spentBy(pid: number, task: string): Spent {
  try {
    const [worked, waited] = readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ').map(Number)
    return { worked: worked! / 1e6, waited: waited! / 1e6 }
  } catch {
    return NOTHING
  }
}

function allOf(pid: number): Map<string, Spent> {
  try {
    return new Map(readdirSync(`/proc/${pid}/task`).map((task) => [task, spentBy(pid, task)]))
  } catch {
    return new Map()
  }
}

const since = (now: Spent, before: Spent = NOTHING): Spent => ({
  worked: now.worked - before.worked,
  waited: now.waited - before.waited,
})

/** Measures how long a server is asked something, from the process that asks. */
export class Watch {
  readonly #server: number
  /** Whether the answer is computed, with threads that the first one waits for. */
  readonly #computed: boolean
  #began = 0
  #threads = new Map<string, Spent>()
  #asking = NOTHING

  constructor(server: number, { computed = true } = {}) {
    this.#server = server
    this.#computed = computed
  }

  start(): this {
    this.#threads = allOf(this.#server)
    this.#asking = spentBy(process.pid, `${process.pid}`)
    this.#began = performance.now()
    return this
  }

  get ms(): Time {
    const clock = performance.now() - this.#began
    const asking = since(spentBy(process.pid, `${process.pid}`), this.#asking)
    let first = NOTHING
    let busiest = NOTHING
    for (const [task, now] of allOf(this.#server)) {
      const spent = since(now, this.#threads.get(task))
      if (task === `${this.#server}`) first = spent
      else if (spent.worked + spent.waited > busiest.worked + busiest.waited) busiest = spent
    }
    const known = first.worked + first.waited + busiest.worked + busiest.waited + asking.worked + asking.waited
    const idle = Math.max(0, clock - known)
    const own = first.worked + (this.#computed ? busiest.worked : 0) + idle
    // While whoever asks waits for a processor itself, to send or to read, nobody keeps it waiting.
    return { clock, own: Math.min(own, clock - asking.worked - asking.waited) }
  }
}
