import fc from 'fast-check'
import { expect, test } from 'vitest'
import { runs } from '../test/support/full.js'
import { fuzzTarget } from './fuzz.js'
import { hostile } from './fuzz-requests.js'

test('no request, however hostile, is answered with 5xx, hangs, or gets an error of another form', async () => {
  const target = fuzzTarget()
  await fc.assert(
    fc.asyncProperty(hostile, async (each) => {
      expect(await target.try(each)).toBe(undefined)
    }),
    { numRuns: runs(2000) },
  )
})
