import type { TokenModel } from '../../contract/index.js'
import { during, getOrMake } from '../../platform/index.js'
import type { Lane, Outlook } from '../answer/lane.js'
import type { DraftRequest, DraftWriter, Guesser } from './guesser.js'
import type { DraftMode } from './mode.js'
import type { Drafted, DraftRoom, GuessKind } from './path.js'

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
    for (const [i, known] of this.#arms.entries()) {
      if (i !== arm && tokens * HOPELESS < rateOf(known) * time) return true
    }
    return false
  }

  get best(): number {
    const [first, ...others] = this.#arms.map(rateOf)
    const best = Math.max(...others)
    return best > first! * LEAST_GAIN ? others.indexOf(best) + 1 : 0
  }
}

const rateOf = ({ tokens, time }: Arm): number => (time > 0 ? tokens / time : 0)

/** What is chosen from. */
interface DraftChoice {
  /** How many guesses an answer may have in a step. */
  readonly most: number
  /** What is small guesses where nothing in the prompt goes on like the answer. */
  readonly bySmall?: true
}

const NOTHING: DraftChoice = { most: 0 }
const BY_TEXT: readonly DraftChoice[] = [{ most: 2 }, { most: 8 }]

/**
 * Steps of one choice, one after the other: what a guess leaves to be done is then done under the same choice.
 */
const STEPS = 32
/** More rows are hardly ever all right, and few devices compute more of them in one way. */
const MOST_ROWS = 16
/** What is hopeless is given up after so many steps. */
const SURE = 8

/** What a step does about guesses. */
export interface DraftedStep {
  /** Of each lane, in their order. */
  readonly guesses: readonly (Drafted | undefined)[]
  /** Lets what is small guess for those that have none, as many as there are. Absent: it is not asked. */
  readonly ask?: () => Promise<DraftedStep['guesses']>
  /** How many guesses an answer may have in these steps, of which so many are to come. */
  readonly most: number
  readonly steps: number
  /** To be told what came of it: how many tokens were fed and stayed, the time it took, and how many steps it was. */
  took(tokens: number, time: number, steps: number): void
}

interface Trial {
  readonly key: string
  readonly arms: Arms
  readonly choices: readonly DraftChoice[]
  readonly arm: number
  steps: number
  tokens: number
  time: number
}

/**
 * Decides how much is guessed, by what did best on this device so far, beside as many other answers. What an answer says
 * does not hang on it.
 */
export class Drafting {
  /** How often guesses of each kind were right, and how often they were not. */
  readonly counts: Record<GuessKind, { right: number; wrong: number }> = {
    label: { right: 0, wrong: 0 },
    short: { right: 0, wrong: 0 },
    copy: { right: 0, wrong: 0 },
    end: { right: 0, wrong: 0 },
    model: { right: 0, wrong: 0 },
  }
  readonly small: Guesser | undefined
  /** By how many answers there are, and whether any takes its values from the prompt. */
  readonly #arms = new Map<string, Arms>()
  #trial: Trial | undefined
  readonly #always: boolean
  readonly #most: DraftRoom

  constructor({ fewTokens = MOST_ROWS, maxChunk, maxSamples = 0 }: TokenModel, mode: DraftMode, small?: Guesser) {
    this.small = small
    this.#always = mode === 'always'
    this.#most = { rows: Math.min(fewTokens, maxChunk, MOST_ROWS), draws: maxSamples }
  }

  /** Whether anything can be guessed for it. */
  may(lane: Lane): boolean {
    return lane.guessable === true || (this.small !== undefined && lane.draftable === true)
  }

  /** Guesses for these answers; `taken`: what the step feeds and draws in any case, for others too. */
  of(writers: readonly DraftWriter[], taken: DraftRoom): DraftedStep {
    const trial = this.#trialOf(writers)
    const { most, bySmall } = trial.choices[this.#always ? trial.choices.length - 1 : trial.arm]!
    let rows = this.#most.rows - taken.rows
    let draws = this.#most.draws - taken.draws
    const guesses: (Drafted | undefined)[] = []
    for (const { lane } of writers) {
      const room = { rows, draws: Math.min(draws, most) }
      const drafted = lane.guessable && room.rows > 0 && room.draws > 0 ? guessed(lane, room) : undefined
      if (drafted) {
        rows -= drafted.tokens.length
        draws -= drafted.draws.length - 1
      }
      guesses.push(drafted)
    }
    let read = 0
    const ask = async () => {
      const without = writers.flatMap(({ lane }, i) => (guesses[i] || !lane.draftable ? [] : [i]))
      const each = (left: number) => Math.floor(left / without.length)
      const room = { rows: each(rows), draws: Math.min(most, each(draws)) }
      if (!(room.rows > 0 && room.draws > 0)) return guesses
      const requests = new Map<number, DraftRequest>()
      for (const i of without) {
        const outlook = ahead(writers[i]!.lane, room)
        if (outlook) requests.set(i, { ...writers[i]!, outlook })
      }
      read = await this.small!.guess([...requests.values()], room.draws)
      return guesses.map((guess, i) => guess ?? requests.get(i)?.outlook.drafted)
    }
    const took = (tokens: number, time: number, steps: number) => {
      trial.steps += steps
      trial.tokens += tokens
      trial.time += time - read
      if (trial.steps < SURE || this.#always) return
      // Its steps are over.
      if (trial.arms.hopeless(trial.arm, trial.tokens, trial.time)) trial.steps = Math.max(STEPS, trial.steps)
    }
    return { guesses, ...(bySmall && { ask }), most, steps: STEPS - trial.steps, took }
  }

  /** The choice that is being tried; a new one where it has had its steps, or there are more answers or fewer. */
  #trialOf(writers: readonly DraftWriter[]): Trial {
    const byText = writers.some(({ lane }) => lane.guessable)
    const key = `${writers.length} ${byText}`
    const known = this.#trial
    if (known?.key === key && known.steps < STEPS) return known
    if (known && known.steps >= STEPS) known.arms.took(known.arm, known.tokens, known.time)
    const choices = [
      NOTHING,
      ...(byText ? BY_TEXT : []),
      ...(this.small?.lengths.map((most) => ({ most, bySmall: true }) as const) ?? []),
    ]
    const arms = getOrMake(this.#arms, key, () => new Arms(choices.length))
    const arm = this.small && !this.#always ? nextBeside(this.small, arms, choices, writers) : arms.next()
    const trial = { key, arms, choices, arm, steps: 0, tokens: 0, time: 0 }
    this.#trial = trial
    return trial
  }

  judge(kind: GuessKind, right: boolean): void {
    this.counts[kind][right ? 'right' : 'wrong']++
  }
}

/**
 * What is tried next where something small may be asked. It rests where it neither gains nor is due to be tried; what it
 * has not read meanwhile it cannot guess for.
 */
function nextBeside(
  small: Guesser,
  arms: Arms,
  choices: readonly DraftChoice[],
  writers: readonly DraftWriter[],
): number {
  const arm = arms.next()
  const { best } = arms
  const withSmall = choices.flatMap(({ bySmall }, i) => (bySmall ? [i] : []))
  const gains = withSmall.includes(best)
  small.rests = !gains && !withSmall.some((each) => arms.isDue(each))
  if (!withSmall.includes(arm) || small.knows(writers)) return arm
  arms.putOff(arm)
  return gains ? 0 : best
}

/** A guess that fails is none: what an answer may cost is found out where it is written. */
function guessed(lane: Lane, room: DraftRoom): Drafted | undefined {
  try {
    return during('mask', lane.request ?? '', () => lane.foresee?.(room))
  } catch {
    return undefined
  }
}

function ahead(lane: Lane, room: DraftRoom): Outlook | undefined {
  try {
    return during('mask', lane.request ?? '', () => lane.outlook?.(room))
  } catch {
    return undefined
  }
}
