/** A decision of two: of the model that writes, by the words that it would say, and of the one that points. */
import type { Decided, DecideQuestion } from '../../contract/index.js'
import { softmax } from '../../platform/index.js'

/**
 * Of each, as logarithms: both are too sure. Fitted on questions that neither has read (`recipe/unread.txt`); whether a
 * statement is true, what points does not know.
 */
const WEIGHTS: Readonly<Record<DecideQuestion['type'], { readonly written: number; readonly pointed: number }>> = {
  choice: { written: 0.15, pointed: 0.5 },
  score: { written: 0.05, pointed: 0.25 },
  predicate: { written: 0.27, pointed: 0 },
}
/** So that no option is impossible. */
const LEAST = 1e-6

/** Whether what points has a say in it. */
export const isPointedAt = (type: DecideQuestion['type']): boolean => WEIGHTS[type].pointed > 0

/** How likely each option of a question is. Absent: what points has no say. */
export interface PointedDecision {
  readonly type: DecideQuestion['type']
  readonly probabilities?: readonly number[]
}

export function decidedByBoth(decided: Decided, pointed: readonly PointedDecision[]): Decided {
  const log = (probability: number) => Math.log(Math.max(LEAST, probability))
  return {
    ...decided,
    answers: decided.answers.map((answer, i) => {
      if (!('probabilities' in answer)) return answer
      const { type, probabilities } = pointed[i]!
      const weights = WEIGHTS[type]
      const sums = answer.probabilities.map(
        (own, option) =>
          weights.written * log(own) + (probabilities ? weights.pointed * log(probabilities[option]!) : 0),
      )
      return { ...answer, probabilities: softmax(sums) }
    }),
  }
}
