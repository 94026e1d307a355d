import { at } from '../../platform/pulse.js'
import type { Lane } from '../answer/lane.js'
import type { TokenModel } from '../token-model.js'
import { Arms } from './arms.js'
import type { Drafted, DraftRoom, GuessKind } from './foresee.js'
import type { DraftMode } from './mode.js'

/** How many guesses an answer may have in a step: what is chosen from. */
const CHOICES = [0, 2, 8]
/**
 * Steps of one choice, one after the other: what a guess leaves to be done is then done under the same choice.
 */
const STEPS = 32
/** More rows are hardly ever all right, and few devices compute more of them in one way. */
const MOST_ROWS = 16

/** What a step does about guesses. */
export interface DraftedStep {
  /** Of each lane, in their order. */
  readonly guesses: readonly (Drafted | undefined)[]
  /** How many guesses an answer may have in these steps, of which so many are to come. */
  readonly most: number
  readonly steps: number
  /** To be told what came of it: how many tokens were fed and stayed, the time it took, and how many steps it was. */
  took(tokens: number, time: number, steps: number): void
}

interface Trial {
  /** How many answers there are that may be guessed. */
  readonly lanes: number
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
  }
  /** By how many answers there are. */
  readonly #arms = new Map<number, Arms>()
  #trial: Trial | undefined
  readonly #always: boolean
  readonly #most: DraftRoom

  constructor({ fewTokens = MOST_ROWS, maxChunk, maxSamples = 0 }: TokenModel, mode: DraftMode) {
    this.#always = mode === 'always'
    this.#most = { rows: Math.min(fewTokens, maxChunk, MOST_ROWS), draws: maxSamples }
  }

  /** Guesses for these lanes; `taken`: what the step feeds and draws in any case, for others too. */
  of(lanes: readonly Lane[], taken: DraftRoom): DraftedStep {
    const trial = this.#trialOf(lanes.length)
    const most = CHOICES[this.#always ? CHOICES.length - 1 : trial.arm]!
    let rows = this.#most.rows - taken.rows
    let draws = this.#most.draws - taken.draws
    const guesses = lanes.map((lane) => {
      const room = { rows, draws: Math.min(draws, most) }
      const drafted = room.rows > 0 && room.draws > 0 ? guessed(lane, room) : undefined
      if (drafted) {
        rows -= drafted.tokens.length
        draws -= drafted.draws.length - 1
      }
      return drafted
    })
    const took = (tokens: number, time: number, steps: number) => {
      trial.steps += steps
      trial.tokens += tokens
      trial.time += time
    }
    return { guesses, most, steps: STEPS - trial.steps, took }
  }

  /** The choice that is being tried; a new one where it has had its steps, or there are more answers or fewer. */
  #trialOf(lanes: number): Trial {
    const known = this.#trial
    if (known?.lanes === lanes && known.steps < STEPS) return known
    if (known && known.steps >= STEPS) this.#armsOf(known.lanes).took(known.arm, known.tokens, known.time)
    const trial = { lanes, arm: this.#armsOf(lanes).next(), steps: 0, tokens: 0, time: 0 }
    this.#trial = trial
    return trial
  }

  #armsOf(lanes: number): Arms {
    const arms = this.#arms.get(lanes) ?? new Arms(CHOICES.length)
    this.#arms.set(lanes, arms)
    return arms
  }

  judge(kind: GuessKind, right: boolean): void {
    this.counts[kind][right ? 'right' : 'wrong']++
  }
}

/** A guess that fails is none: what an answer may cost is found out where it is written. */
function guessed(lane: Lane, room: DraftRoom): Drafted | undefined {
  try {
    return at('mask', lane.request ?? '', () => lane.foresee?.(room))
  } catch {
    return undefined
  }
}
