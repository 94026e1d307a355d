import type { Decided, Decision } from '../../contract/index.js'
import { log, softmax } from '../../platform/index.js'

/** Logarithms, of what is as good as impossible too. */
export const logsOf = (probabilities: readonly number[]): number[] =>
  probabilities.map((one) => log(Math.max(one, Number.MIN_VALUE)))

/** The distribution that `softmax(logits / temperature)` is, from the one that `softmax(logits)` was. */
export function tempered(probabilities: readonly number[], temperature: number): number[] {
  return softmax(logsOf(probabilities).map((score) => score / temperature))
}

/** Each answer, less sure or surer; which option is the likeliest does not change. */
export function calibrated(decided: Decided, temperature: number): Decided {
  const answers = decided.answers.map(
    (answer): Decision =>
      'refused' in answer ? answer : { ...answer, probabilities: tempered(answer.probabilities, temperature) },
  )
  return { ...decided, answers, temperature }
}
