import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { softwareGpu } from '../../../test/support/swiftshader.js'
import type { Device } from '../contract.js'
import { Chance, knownMatrix } from '../operations/numbers.test-helper.js'
import { check } from '../operations/project.test-helper.js'
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

  const product = (name: string, scale: number, rows: number, columns: number, tokens: number) =>
    it(name, async () => {
      const chance = new Chance(rows + tokens)
      const known = knownMatrix(chance, rows % 2 ? 'q4f16' : 'q4f32', rows, columns)
      await check(device, known, chance.floats(tokens * columns, scale), tokens, {}, BOUND)
    })
  product('a product', 1, 129, 1088, 70)
  product('a product of one block', 1, 70, 32, 17)
  product('activations beyond the range of f16', 1e6, 71, 96, 20)
  product('activations below it', 1e-9, 71, 96, 20)

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

  it('with norm, bias and addition', async () => {
    const chance = new Chance(3)
    const known = knownMatrix(chance, 'q4f16', 46, 160)
    const options = { gain: chance.floats(160), bias: chance.floats(46), start: chance.floats(40 * 46) }
    await check(device, known, chance.floats(40 * 160, 3), 40, options, BOUND)
  })

  it('gated', async () => {
    const chance = new Chance(4)
    const known = knownMatrix(chance, 'q4f16', 2 * 37, 96, 0.2)
    await check(device, known, chance.floats(40 * 96), 40, { gain: chance.floats(96), gated: true }, BOUND)
  })
})
