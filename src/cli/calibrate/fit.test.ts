import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { COOLEST, fitTemperature, HOTTEST, type Judged, reliabilityOf, temperedAnswers } from './fit.js'

/** By definition. */
function lossOf(answers: readonly Judged[], temperature: number): number {
  return answers.reduce((sum, { probabilities, right }) => {
    const all = probabilities.reduce((total, one) => total + one ** (1 / temperature), 0)
    return sum - Math.log(probabilities[right]! ** (1 / temperature) / all)
  }, 0)
}

/** Another way to the same: golden sections over the logarithm of the temperature. */
function leastLoss(answers: readonly Judged[]): number {
  const loss = (log: number) => lossOf(answers, Math.exp(log))
  const ratio = (Math.sqrt(5) - 1) / 2
  let [low, high] = [Math.log(COOLEST), Math.log(HOTTEST)]
  for (let i = 0; i < 100; i++) {
    const width = (high - low) * ratio
    if (loss(high - width) < loss(low + width)) high = low + width
    else low = high - width
  }
  return Math.exp((low + high) / 2)
}

/** A generator of its own numbers: xorshift. */
function numbers(seed: number): () => number {
  let state = seed | 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
}

/** The place at which `at`, of a sum of 1, falls. */
function drawn(weights: readonly number[], at: number): number {
  let sum = 0
  const found = weights.findIndex((weight) => {
    sum += weight
    return at < sum
  })
  return found < 0 ? weights.length - 1 : found
}

/** Answers of a model whose logits are `temperature` times too large, and right as often as they should be. */
function synthetic(temperature: number, count: number, random: () => number): Judged[] {
  return Array.from({ length: count }, () => {
    const logits = Array.from({ length: 2 + Math.floor(random() * 4) }, () => 4 * (random() - 0.5))
    const softmax = (by: number) => {
      const weights = logits.map((logit) => Math.exp(logit * by))
      const sum = weights.reduce((total, weight) => total + weight, 0)
      return weights.map((weight) => weight / sum)
    }
    return { probabilities: softmax(temperature), right: drawn(softmax(1), random()) }
  })
}

describe('a fitted temperature', () => {
  it('has the least log loss, found in another way', () => {
    const answers = fc.array(
      fc.array(fc.double({ min: 0.01, max: 1, noNaN: true }), { minLength: 2, maxLength: 6 }).chain((weights) => {
        const sum = weights.reduce((total, weight) => total + weight, 0)
        return fc.record({
          probabilities: fc.constant(weights.map((weight) => weight / sum)),
          right: fc.integer({ min: 0, max: weights.length - 1 }),
        })
      }),
      { minLength: 1, maxLength: 40 },
    )
    fc.assert(
      fc.property(answers, (some) => {
        const fitted = fitTemperature(some)
        const temperature = fitted === 'none' ? HOTTEST : fitted === 'more' ? COOLEST : fitted
        expect(lossOf(some, temperature)).toBeLessThanOrEqual(lossOf(some, leastLoss(some)) + 1e-9)
      }),
    )
  })

  it.each([0.5, 1, 2, 5])('is the one that a set was made with: %d', (temperature) => {
    const answers = synthetic(temperature, 5000, numbers(7))
    const fitted = fitTemperature(answers) as number
    expect(Math.abs(fitted / temperature - 1)).toBeLessThan(0.1)
    expect(Math.abs(fitted / leastLoss(answers) - 1)).toBeLessThan(1e-6)
    const [before, after] = [answers, temperedAnswers(answers, fitted)].map(reliabilityOf)
    expect(after!.accuracy).toBe(before!.accuracy)
    expect(after!.ece).toBeLessThan(0.03)
    expect(after!.logLoss).toBeLessThanOrEqual(before!.logLoss)
  })

  it('is none where examples determine none', () => {
    const sure = { probabilities: [0.9, 0.1] }
    expect(fitTemperature([{ ...sure, right: 0 }])).toBe('more')
    expect(fitTemperature([{ ...sure, right: 1 }])).toBe('none')
    expect(fitTemperature([0, 1].map((right) => ({ probabilities: [0.5, 0.5], right })))).toBe('none')
    // What was certain and wrong is no end of the numbers.
    const certain = { probabilities: [1, 0] }
    const some = [{ ...certain, right: 1 }, ...Array<Judged>(50).fill({ ...certain, right: 0 })]
    expect(Number.isFinite(reliabilityOf(some).logLoss)).toBe(true)
    expect(fitTemperature(some)).toBe('none')
  })
})

describe('reliability', () => {
  it('is how far what was said lies from what was right, by the answers of each bin', () => {
    const answers = [
      { probabilities: [0.95, 0.05], right: 0 },
      { probabilities: [0.05, 0.95], right: 0 },
      { probabilities: [0.6, 0.4], right: 0 },
      { probabilities: [1, 0], right: 0 },
    ]
    const { accuracy, ece, logLoss, bins } = reliabilityOf(answers)
    expect(accuracy).toBe(3 / 4)
    const sure = (0.95 + 0.95 + 1) / 3 - 2 / 3
    expect(ece).toBeCloseTo((3 / 4) * sure + (1 / 4) * 0.4, 12)
    expect(logLoss).toBeCloseTo(-(Math.log(0.95) + Math.log(0.05) + Math.log(0.6)) / 4, 12)
    expect(bins.map(({ count }) => count)).toEqual([0, 0, 0, 0, 0, 0, 1, 0, 0, 3])
  })
})
