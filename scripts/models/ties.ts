/** Float64 beside who may have chosen the other one of two experts that tie: of the very experts that were chosen. */
import { whileChoosing } from '../../test/oracles/families/experts.js'
import type { Case, Weights } from '../../test/oracles/family.js'
import { inHalves, type Vector } from '../../test/oracles/float64.js'
import { type Answer, compare, retold } from '../../test/oracles/judge.js'

/**
 * By how much, as logarithms, the last expert that is chosen leads the next where either may be: llama.cpp moves what a
 * router sees by as much as what a model says, some thousandths.
 */
const EXPERTS_TIE = 5e-3
/** Ties that are looked at where a step is off. */
const MOST_CAUSES = 8

/** The log probabilities of the likeliest tokens. */
export type Likely = ReadonlyMap<number, number>

export function compared(truth: readonly Vector[], predicted: readonly Likely[], lead = 0) {
  const asFunctions = predicted.map((likely) => {
    const least = Math.min(...likely.values())
    return (token: number) => likely.get(token) ?? least
  })
  return compare(truth, asFunctions, () => lead)
}

/** What float64 says of a text, where it chose the next expert in place of the last at some choices, and its ties. */
function withExperts(of: Case, weights: Weights, answer: Answer, others: ReadonlySet<number>) {
  const ties: number[] = []
  let choices = 0
  const choosing = (lead: number) => {
    if (lead < EXPERTS_TIE && !others.has(choices)) ties.push(choices)
    return others.has(choices++)
  }
  const truth = whileChoosing(choosing, () => retold(of, weights, answer, undefined, inHalves))
  // Each token has as many.
  const steps = answer.tokens.length - 1
  const before = steps - truth.length
  return { truth, ties: ties.map((choice) => ({ choice, step: Math.floor((choice * steps) / choices) - before })) }
}

/**
 * Float64 of the very experts that were chosen: of two that tie either may be, which says another thing at that step, and at
 * those after it, which find it in the cache. `off`: nats at a step, by which another expert moves some token, and nothing else
 * any.
 */
export function alike(of: Case, weights: Weights, answer: Answer, predicted: readonly Likely[], off: number) {
  const agreed = (truth: readonly Vector[]) => {
    const step = truth.findIndex((logprobs, i) => compared([logprobs], [predicted[i]!]).worst > off)
    return step < 0 ? truth.length : step
  }
  if (agreed(answer.logprobs) === predicted.length) return { truth: answer.logprobs, otherExperts: 0 }
  const found = (others: ReadonlySet<number>) => {
    const { truth, ties } = withExperts(of, weights, answer, others)
    const agrees = agreed(truth)
    // The latest that it can come of is the likeliest.
    const causes = ties.filter(({ step }) => step <= agrees).reverse()
    return { truth, others, agrees, causes: causes.slice(0, MOST_CAUSES) }
  }
  let best = found(new Set())
  for (let before = -1; before < best.agrees && best.agrees < predicted.length; ) {
    before = best.agrees
    for (const { choice } of best.causes) {
      const next = found(new Set([...best.others, choice]))
      if (next.agrees <= before) continue
      best = next
      break
    }
  }
  return { truth: best.truth, otherExperts: best.others.size }
}
