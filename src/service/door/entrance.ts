import { breathe, CallerLines } from '../../platform/index.js'

/** Few enough that sockets, timers and a model's steps do not wait long, and enough for a thousand requests a second. */
export const BEGIN_PER_TURN = 16

/**
 * Where requests begin: so many in each turn of the event loop, callers taking turns. A socket layer hands over all that
 * has come at once, and whoever sends three hundred requests would keep everybody else waiting for all of them, if only
 * to be refused.
 */
export class Entrance {
  readonly #lines = new CallerLines()
  #begun = 0

  /** Nothing to wait for, or what to wait for. */
  enter(caller: string): Promise<void> | undefined {
    if (this.#begun === BEGIN_PER_TURN) return new Promise((resolve) => this.#lines.add(caller, resolve))
    if (this.#begun++ === 0) void breathe().then(this.#turn)
    return undefined
  }

  readonly #turn = (): void => {
    this.#begun = 0
    for (; this.#begun < BEGIN_PER_TURN; this.#begun++) {
      const begin = this.#lines.take()
      if (!begin) break
      begin()
    }
    if (this.#begun > 0) void breathe().then(this.#turn)
  }
}
