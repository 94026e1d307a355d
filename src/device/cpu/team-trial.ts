/** Alone or together: whichever took less time when both were tried. */

/** Runs of each way before the choice. The first of each does not count: threads are still asleep. */
const TRIALS = 4
/**
 * Runs after which the choice is made anew, at first and at most: code is compiled better and better while it runs, and
 * other programs, which keep cores busy, come and go.
 */
const TERMS = { first: 32, longest: 1024 }
/** Milliseconds from which on nothing is tried alone: threads always help, and a trial would be felt. */
const LONG = 100
/** Less gain is chance, or comes from others not having taken part; when they do, they may be in the way. */
const WORTH = 0.95
/** Runs together of which the mean is looked at: one that is held up is chance, many are a reason to stay alone. */
const WATCHED = 16
/** How much longer than alone they may take before threads are left. */
const PARDON = 1.25
/** What a single run counts at most, in runs alone: it may have met the garbage collector, or code being compiled. */
const OUTLIER = 6

export class TeamTrial {
  #term = TERMS.first
  #runs = 0
  #alone: number[] = []
  #together: number[] = []
  #chosen = false
  /** Milliseconds of a run alone. */
  #limit = 0
  #spent = 0
  #watched = 0

  /** Whether the next run is done together; tell `took` how long it took. */
  next(): boolean {
    if (this.#runs === this.#term) {
      this.#runs = 0
      this.#term = Math.min(TERMS.longest, this.#term * 2)
    }
    const run = this.#runs
    return run < TRIALS * 2 ? run < TRIALS : this.#chosen
  }

  took(milliseconds: number): void {
    const run = this.#runs++
    if (run >= TRIALS * 2) {
      if (this.#chosen) this.#watch(milliseconds)
      return
    }
    const times = run < TRIALS ? this.#together : this.#alone
    if (run % TRIALS === 0) times.length = 0
    else times.push(milliseconds)
    if (run === TRIALS - 1 && median(times) > LONG) {
      this.#choose(Number.POSITIVE_INFINITY)
      this.#runs = TRIALS * 2
    } else if (run === TRIALS * 2 - 1) this.#choose(median(times))
  }

  #choose(alone: number): void {
    this.#limit = alone
    this.#chosen = median(this.#together) < alone * WORTH
    this.#spent = 0
    this.#watched = 0
  }

  #watch(milliseconds: number): void {
    this.#spent += Math.min(milliseconds, this.#limit * OUTLIER)
    if (++this.#watched < WATCHED) return
    if (this.#spent / WATCHED > this.#limit * PARDON) this.#chosen = false
    this.#spent = 0
    this.#watched = 0
  }
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[values.length >> 1]!
}
