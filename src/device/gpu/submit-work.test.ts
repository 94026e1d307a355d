import { describe, expect, it } from 'vitest'
import { SubmitWork } from './submit-work.js'

describe('what a pass hands over at once', () => {
  it('is a tenth of a second of what the GPU has shown, never less than a slow one needs that for', () => {
    const submits = new SubmitWork()
    const least = submits.most
    submits.took(20 * least, 200)
    expect(submits.most).toBe(10 * least)
    submits.took(least, 1000)
    expect(submits.most).toBe(least)
    submits.took(2 ** 50, 0.1)
    expect(submits.most).toBeLessThan(2 ** 41)
  })

  it('does not hang on passes that are mostly waiting, nor where it is given', () => {
    const submits = new SubmitWork()
    const least = submits.most
    submits.took(1e6, 1e-3)
    submits.took(2 * least, 0)
    expect(submits.most).toBe(least)
    const fixed = new SubmitWork(7)
    fixed.took(20 * least, 1)
    expect(fixed.most).toBe(7)
  })
})
