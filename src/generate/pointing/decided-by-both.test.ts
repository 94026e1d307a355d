import { expect, it } from 'vitest'
import type { Decided } from '../../contract/index.js'
import { decidedByBoth } from './decided-by-both.js'

const decided = (...answers: Decided['answers']): Decided => ({
  answers,
  usage: { promptTokens: 3, completionTokens: 0, cachedTokens: 0 },
})
const choice = (...probabilities: number[]) => ({ type: 'choice' as const, probabilities })
const sharesOf = ({ answers: [first] }: Decided) => (first && 'probabilities' in first ? first.probabilities : [])

it('what both prefer is likelier than what one does', () => {
  const of = (written: number, pointed: number) =>
    sharesOf(decidedByBoth(decided({ probabilities: [written, 1 - written] }), [choice(pointed, 1 - pointed)]))[0]!
  expect(of(0.5, 0.5)).toBeCloseTo(0.5)
  expect(of(0.9, 0.9)).toBeGreaterThan(of(0.9, 0.5))
  expect(of(0.9, 0.9)).toBeGreaterThan(of(0.5, 0.9))
  expect(of(0.9, 0.1)).toBeLessThan(of(0.9, 0.9))
})

it('no option is impossible, and all of them are one', () => {
  const shares = sharesOf(decidedByBoth(decided({ probabilities: [1, 0, 0] }), [choice(0, 1, 0)]))
  expect(shares.reduce((sum, one) => sum + one, 0)).toBeCloseTo(1)
  for (const share of shares) expect(share).toBeGreaterThan(0)
})

it('what was told beside them stays, and what was refused', () => {
  const both = decidedByBoth(decided({ refused: true }, { probabilities: [1], optionMass: 0.25 }), [
    choice(1),
    choice(1),
  ])
  expect(both).toEqual(decided({ refused: true }, { probabilities: [1], optionMass: 0.25 }))
})
