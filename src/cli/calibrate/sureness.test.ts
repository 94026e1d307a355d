import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { aurocOf, caughtBy, type SureValue, surenessOf } from './sureness.js'

const values = fc.array(fc.record({ confidence: fc.constantFrom(0, 0.1, 0.25, 0.5, 0.75, 1), right: fc.boolean() }), {
  minLength: 1,
  maxLength: 40,
})

/** By its definition: all pairs. */
function byPairs(all: readonly SureValue[]): number {
  let [sum, pairs] = [0, 0]
  for (const one of all.filter(({ right }) => right)) {
    for (const other of all.filter(({ right }) => !right)) {
      pairs++
      sum += one.confidence > other.confidence ? 1 : one.confidence === other.confidence ? 0.5 : 0
    }
  }
  return sum / pairs
}

describe('what confidence is worth', () => {
  it('is the share of pairs in the right order', () => {
    fc.assert(
      fc.property(values, (all) => {
        const [found, wanted] = [aurocOf(all), byPairs(all)]
        if (Number.isNaN(wanted)) expect(found).toBeNaN()
        else expect(found).toBeCloseTo(wanted, 12)
      }),
    )
  })

  it('catches what a person would who looks at the least certain, on average over orders of what is alike', () => {
    fc.assert(
      fc.property(values, fc.constantFrom(0.2, 0.5, 1), (all, share) => {
        const wrong = all.filter(({ right }) => !right).length
        if (wrong === 0) return
        const { caught, threshold } = caughtBy(all, share)
        // Those surely looked at, and those surely not.
        const below = all.filter(({ confidence, right }) => confidence < threshold && !right).length
        const upTo = all.filter(({ confidence, right }) => confidence <= threshold && !right).length
        expect(caught * wrong).toBeGreaterThanOrEqual(below - 1e-9)
        expect(caught * wrong).toBeLessThanOrEqual(upTo + 1e-9)
        expect(all.filter(({ confidence }) => confidence < threshold).length).toBeLessThan(share * all.length)
        if (share === 1) expect(caught).toBeCloseTo(1, 12)
      }),
    )
  })

  it('is perfect where all wrong values are the least certain, and told with its bins', () => {
    const all = Array.from({ length: 10 }, (_, i) => ({ confidence: (i + 0.5) / 10, right: i >= 2 }))
    const { auroc, caught, threshold, reliability } = surenessOf(all)
    expect([auroc, caught, threshold]).toEqual([1, 1, 0.15])
    expect(reliability.accuracy).toBe(0.8)
    expect(reliability.bins.map(({ count }) => count)).toEqual(new Array(10).fill(1))
  })
})
