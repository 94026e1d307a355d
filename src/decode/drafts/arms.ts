/** What was done, and what came of it of late. */
interface Arm {
  times: number
  /** Tokens that were fed and stayed, and the time it took. */
  tokens: number
  time: number
}

/** How fast what was measured is forgotten: after so many times it counts for a third. */
const REMEMBERED = 20
/** Each arm is tried so often before any is chosen. */
const FIRST = 2
/** Then one time in so many tries another than the best: what was slow may have become quick. */
const TRIES = 12

/** What no clock shows costs something, too: the first arm, to do nothing, is left for what gains at least so much. */
const LEAST_GAIN = 1.1

/** Chooses what to do by what did best: the most tokens in the least time. */
export class Arms {
  readonly #arms: Arm[]
  #turn = 0

  constructor(count: number) {
    this.#arms = Array.from({ length: count }, () => ({ times: 0, tokens: 0, time: 0 }))
  }

  next(): number {
    const turn = this.#turn++
    const untried = this.#arms.findIndex(({ times }) => times < FIRST)
    if (untried >= 0) return untried
    if (turn % TRIES === 0) return (turn / TRIES) % this.#arms.length
    return this.#best()
  }

  took(arm: number, tokens: number, time: number): void {
    const known = this.#arms[arm]!
    const kept = 1 - 1 / REMEMBERED
    known.times++
    known.tokens = known.tokens * kept + tokens
    known.time = known.time * kept + time
  }

  #best(): number {
    const [first, ...others] = this.#arms.map(({ tokens, time }) => (time > 0 ? tokens / time : 0))
    const best = Math.max(...others)
    return best > first! * LEAST_GAIN ? others.indexOf(best) + 1 : 0
  }
}
