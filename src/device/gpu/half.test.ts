import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { softwareGpu } from '../../../test/support/swiftshader.js'
import type { Device } from '../contract.js'
import { Chance, knownMatrix } from '../operations/numbers.test-helper.js'
import { check, itMultiplies } from '../operations/project.test-helper.js'
import { openWebGpuDevice } from './index.js'

const adapter = await (await softwareGpu()).requestAdapter()

/**
 * Relative to the sum of |w x|: an activation loses at most 2^-12 where it becomes f16, a sum of eight products at most
 * 2^-12 with each, and 2^-12 where two of these are added; the rest is f32. Doubled, for an adapter that truncates.
 */
const BOUND = 10 * 2 ** -11

describe.skipIf(!adapter?.features.has('shader-f16'))('in f16 (skipped where the adapter has no shader-f16)', () => {
  let device: Device
  beforeAll(async () => {
    device = await openWebGpuDevice({ gpu: await softwareGpu(), serial: false, cuts: { matrices: false } })
    expect(device.info.kernels).toMatch(/ half /)
  })
  afterAll(() => device?.destroy())

  itMultiplies(() => device, BOUND, ['q4f16', 160], ['q4f16', 96])

  it.each([32, 64, 544])(
    'in tiles beside each other as in one after the other, to the bit, %i columns',
    async (columns) => {
      const cuts = { halves: { twice: false }, matrices: false }
      const after = await openWebGpuDevice({ gpu: await softwareGpu(), serial: false, cuts })
      const chance = new Chance(columns)
      const known = knownMatrix(chance, 'q4f16', 70, columns)
      const x = chance.floats(66 * columns)
      const expected = await check(after, known, x, 66, {}, BOUND)
      expect(await check(device, known, x, 66, {}, BOUND)).toEqual(expected)
      after.destroy()
    },
  )
})
