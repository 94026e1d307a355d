import { breathe } from './platform/turns.js'

/** Few enough that sockets, timers and a model's steps do not wait long, and enough for a thousand requests a second. */
export const BEGIN_PER_TURN = 16

/**
 * Where requests begin: so many in each turn of the event loop, callers taking turns. A socket layer hands over all that
 * has come at once, and whoever sends three hundred requests would keep everybody else waiting for all of them, if only
 * to be refused.
 */
export class Entrance {
  /** In the order of turns: who was served goes to the end. */
  readonly #lines = new Map<string, (() => void)[]>()
  #begun = 0

  /** Nothing to wait for, or what to wait for. */
  enter(caller: string): Promise<void> | undefined {
    if (this.#begun === BEGIN_PER_TURN) return new Promise((resolve) => this.#add(caller, resolve))
    if (this.#begun++ === 0) void breathe().then(this.#turn)
    return undefined
  }

  readonly #turn = (): void => {
    this.#begun = 0
    for (; this.#begun < BEGIN_PER_TURN; this.#begun++) {
      const [next] = this.#lines
      if (!next) break
      const [caller, line] = next
      this.#lines.delete(caller)
      const begin = line.shift()!
      if (line.length > 0) this.#lines.set(caller, line)
      begin()
    }
    if (this.#begun > 0) void breathe().then(this.#turn)
  }

  #add(caller: string, begin: () => void): void {
    const line = this.#lines.get(caller)
    if (line) line.push(begin)
    else this.#lines.set(caller, [begin])
  }
}
