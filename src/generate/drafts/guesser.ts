import type { SampleSettings, Sequence } from '../../contract/index.js'
import type { Lane, Outlook } from '../answer/lane.js'

/** Something small beside a model, which guesses what that one says. */
export interface Guesser {
  /** How many guesses a step may have, of which the best number is found out. */
  readonly lengths: readonly number[]
  /** Nobody is going to ask it for a while. */
  rests: boolean
  /** Whether it can guess for all of these. */
  knows(writers: readonly DraftWriter[]): boolean
  /**
   * Lets the paths of answers grow by at most `most` guesses each. Gives back the time that it took for what is done once
   * for an answer. What fails is not tried again.
   */
  guess(requests: readonly DraftRequest[], most: number): Promise<number>
  /** The answer is over. */
  drop(lane: Lane): void
  clear(): void
  close(): Promise<void>
}

/** An answer that is written. */
export interface DraftWriter {
  readonly lane: Lane
  /** What the model has read of it. */
  readonly sequence: Sequence
}

export interface DraftRequest extends DraftWriter {
  readonly outlook: Outlook
}

/** Nothing is told of a guess. */
export function asGuess({ topLogprobs: _, among: __, admitted: ___, ...settings }: SampleSettings): SampleSettings {
  return settings
}
