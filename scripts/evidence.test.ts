import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { evidenceCases, quoteCases } from './evidence/cases.js'
import { hostileFaults, hostileQuoteFaults } from './evidence/hostile.js'
import { whyNot } from './evidence/judge.js'
import { evidenceTarget } from './evidence/run.js'

/** What `npm run check:evidence` does ten thousand times. */
describe('what answers tell of their values', () => {
  it('is right, the same in a stream and in company, over random schemas and texts', async () => {
    const target = evidenceTarget()
    const cases = fc.sample(evidenceCases, { numRuns: 80, seed: 11 })
    for (let at = 0; at < cases.length; at += 4) expect(await target.try(cases.slice(at, at + 4))).toEqual([])
    await target.close()
    expect(target.counts.sources).toBeGreaterThan(20)
  })

  it('has its strings word for word where they are quotes', async () => {
    const target = evidenceTarget()
    const cases = fc.sample(quoteCases, { numRuns: 60, seed: 12 })
    for (let at = 0; at < cases.length; at += 4) expect(await target.try(cases.slice(at, at + 4))).toEqual([])
    await target.close()
    expect(target.counts.sources).toBeGreaterThan(40)
  })

  it('is right in hostile texts', () => {
    expect(hostileFaults(2 ** 14).faults).toEqual([])
  })

  it('and quotes of them are what stands there', () => {
    expect(hostileQuoteFaults(2 ** 13).faults).toEqual([])
  })
})

describe('the judge', () => {
  it.each([
    [1250, 'of 1.250,00 EUR', 3, 11],
    [-3, 'at \u22123', 3, 5],
    ['2026-03-12', 'am 12. M\u00e4rz', 3, 11],
    ['Jane Doe', 'JANE\nDOE', 0, 8],
  ])('takes %s in %s', (value, text, start, end) => expect(whyNot(value, text, start, end)).toBe(undefined))

  it.each([
    [1250, '1251', 0, 4],
    [125, '1250', 0, 3],
    [3, '\u22123', 0, 2],
    ['2026-03-12', '12 April', 0, 8],
    ['2026-03-12', '12 March 2025', 0, 13],
    ['cat', 'cathedral', 0, 3],
    ['cat', 'a cat', 2, 6],
    ['cat', 'a cat', 1, 4],
    ['\ud83c', '\ud83c\udf89', 0, 1],
    [true, 'true', 0, 4],
  ])('and not %s in %s', (value, text, start, end) => expect(whyNot(value, text, start, end)).not.toBe(undefined))
})
