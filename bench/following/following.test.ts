import { expect, it } from 'vitest'
import { following, stillCore } from './following.js'

/** Of what a pass takes: the sampler, which waits for the mask, and what the host asks for in between. */
const SAMPLING = 0.05

it.each([
  { pass: 2.5, roundTrip: 1, mask: 0.2 },
  { pass: 10, roundTrip: 3, mask: 2 },
  { pass: 1, roundTrip: 3, mask: 0.5 },
])('a token of strict JSON takes the longer of a pass and the way back, not both: %j', async (each) => {
  const { pass, roundTrip, mask } = each
  const { stepped, followed } = await following(each)
  expect(stepped).toBeGreaterThanOrEqual(0.98 * (pass + roundTrip + mask))
  expect(followed).toBeLessThanOrEqual(Math.max(pass, roundTrip + mask) + SAMPLING * pass)
})

it('goes as far as the context reaches and no further, and gives back what nobody drew from', async () => {
  const { gpu, core } = await stillCore()
  const sample = { temperature: 0, topP: 1, seed: 1, index: 0, presencePenalty: 0, frequencyPenalty: 0 }
  const free = core.freeTokens
  const sequence = core.open()
  await core.step([{ sequence, tokens: new Array(500).fill(7) }])
  gpu.take()
  const tokens = core.follow!([{ sequence, tokens: new Array(9).fill(7), sample }])
  let drawn = 0
  for (let one = await tokens.next(); !one.done; one = await tokens.next([sample])) drawn++
  expect([drawn, sequence.length]).toEqual([4, 512])
  // Only what is drawn last is waited for.
  expect(gpu.take().counts.stalls).toBe(1)
  sequence.close()
  const other = core.open()
  const left = core.follow!([{ sequence: other, tokens: [7], sample }])
  await left.next()
  expect(other.length).toBe(2)
  await left.return()
  expect(other.length).toBe(1)
  other.close()
  expect(core.freeTokens).toBe(free)
  await core.close()
})
