/** What was done, and what came of it of late. */
interface Arm {
  times: number
  /** Tokens that were fed and stayed, and the time it took. */
  tokens: number
  time: number
  /** Turns after which it is tried again, and how many of them are left. */
  pause: number
  rest: number
  /** Turns for which it was due and could not be tried. */
  late: number
}

/** How fast what was measured is forgotten: after so many times it counts for a third. */
const REMEMBERED = 20
/** Each arm is tried so often before any is chosen. */
const FIRST = 2
/** Then after so many turns one that is not the best: what was slow may have become quick. If it has not, twice as many. */
const TRIES = 12
const MOST_TRIES = 192
/** What could not be tried for so many turns has to wait until it is due again. */
const MOST_LATE = 12
/** What is so far behind the best is given up before its turn is over. */
const HOPELESS = 2

/** What no clock shows costs something, too: the first arm, to do nothing, is left for what gains at least so much. */
const LEAST_GAIN = 1.1

/** Chooses what to do by what did best: the most tokens in the least time. */
export class Arms {
  readonly #arms: Arm[]

  constructor(count: number) {
    this.#arms = Array.from({ length: count }, () => ({
      ...{ times: 0, tokens: 0, time: 0, pause: TRIES, rest: 0, late: 0 },
    }))
  }

  next(): number {
    const untried = this.#arms.findIndex(({ times, rest }) => times < FIRST && rest <= 0)
    if (untried >= 0) return untried
    const { best } = this
    for (const [i, arm] of this.#arms.entries()) if (i !== best) arm.rest--
    const due = this.#arms.findIndex(({ rest }, i) => i !== best && rest <= 0)
    return due < 0 ? best : due
  }

  took(arm: number, tokens: number, time: number): void {
    const known = this.#arms[arm]!
    const kept = 1 - 1 / REMEMBERED
    known.times++
    known.tokens = known.tokens * kept + tokens
    known.time = known.time * kept + time
    const best = this.best === arm
    known.pause = best ? TRIES : Math.min(MOST_TRIES, known.times > FIRST ? known.pause * 2 : known.pause)
    known.rest = known.times < FIRST ? 0 : known.pause
    known.late = 0
  }

  isDue(arm: number): boolean {
    return this.#arms[arm]!.rest <= 0
  }

  /** It was due, and cannot be tried now. */
  putOff(arm: number): void {
    const known = this.#arms[arm]!
    if (++known.late < MOST_LATE) return
    known.late = 0
    known.pause = Math.min(MOST_TRIES, known.pause * 2)
    known.rest = known.pause
  }

  /** Whether what it has come to so far is far from the best. */
  hopeless(arm: number, tokens: number, time: number): boolean {
    const best = Math.max(...this.#arms.map((known, i) => (i === arm ? 0 : rateOf(known))))
    return tokens * HOPELESS < best * time
  }

  get best(): number {
    const [first, ...others] = this.#arms.map(rateOf)
    const best = Math.max(...others)
    return best > first! * LEAST_GAIN ? others.indexOf(best) + 1 : 0
  }
}

const rateOf = ({ tokens, time }: Arm): number => (time > 0 ? tokens / time : 0)
