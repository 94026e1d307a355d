/** A decision of two: of the model that writes, by the words that it would say, and of the one that points. */
import type { Decided } from '../../contract/index.js'
import { softmax } from '../../platform/index.js'

/** Of each, as logarithms: both are too sure. Fitted on questions that neither has read (`recipe/unread.txt`). */
const WEIGHTS = { written: 0.35, pointed: 0.5 }
/** So that no option is impossible. */
const LEAST = 1e-6

/** `pointed`: of each question the probabilities of its options. */
export function decidedByBoth(decided: Decided, pointed: readonly (readonly number[])[]): Decided {
  const log = (probability: number) => Math.log(Math.max(LEAST, probability))
  return {
    ...decided,
    answers: decided.answers.map((answer, i) => {
      if (!('probabilities' in answer)) return answer
      const { probabilities, ...rest } = answer
      const sums = probabilities.map(
        (own, option) => WEIGHTS.written * log(own) + WEIGHTS.pointed * log(pointed[i]![option]!),
      )
      return { ...rest, probabilities: softmax(sums) }
    }),
  }
}
