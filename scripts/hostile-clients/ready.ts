/**
 * How long threads were ready and had to wait for a processor, as Linux counts it: on a busy machine this is what an
 * answer is late by through no fault of the server. Elsewhere it is 0.
 */
import { readdirSync, readFileSync } from 'node:fs'

/** Milliseconds, of a process: the most that one of its threads did. They wait for each other, and at the same time. */
export function waited(pid: number): number {
  try {
    return Math.max(0, ...readdirSync(`/proc/${pid}/task`).map((task) => waitOf(pid, task)))
  } catch {
    return 0
  }
}

function waitOf(pid: number, task: string): number {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[1]) / 1e6
  } catch {
    return 0
  }
}

/** Measures times by the clock, and with what the server and this process waited for a processor taken off. */
export class Watch {
  readonly #server: number
  #began = 0
  #ready = 0

  constructor(server: number) {
    this.#server = server
  }

  start(): this {
    this.#ready = this.#waited()
    this.#began = performance.now()
    return this
  }

  get ms(): Time {
    const clock = performance.now() - this.#began
    return { clock, own: Math.max(0, clock - (this.#waited() - this.#ready)) }
  }

  #waited(): number {
    return waited(this.#server) + waited(process.pid)
  }
}

export interface Time {
  /** By the clock. */
  readonly clock: number
  /** Without what was waited for a processor. */
  readonly own: number
}
