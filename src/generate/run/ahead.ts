/**
 * Whether passes are worth beginning before it is known how their tokens are drawn. One that nobody draws from, because
 * the grammar goes on by itself or the answer ends, has kept the device from what comes instead.
 */

/** Steps after which an old one counts for little. */
const REMEMBERED = 16
/** Of passes that were begun, the share that must have been of use. */
const LEAST = 0.5
/** Steps until it is tried again. */
const REST = 64

export class Ahead {
  #share = 1
  #rest = 0

  /** To be asked once for each step. */
  pays(): boolean {
    if (this.#rest === 0) return true
    this.#rest--
    return false
  }

  /** What became of a pass that was begun. */
  came(used: boolean): void {
    this.#share += (Number(used) - this.#share) / REMEMBERED
    if (this.#share >= LEAST) return
    this.#rest = REST
    // A few more that are of no use, and it rests again.
    this.#share = (1 + LEAST) / 2
  }
}
