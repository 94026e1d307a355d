import { afterAll, beforeAll, describe, it } from 'vitest'
import type { Device } from './device.js'
import { KERNEL_DEVICES } from './devices.test-helper.js'
import { Chance, FORMATS, type Format, knownMatrix } from './numbers.test-helper.js'
import { check } from './project.test-helper.js'

describe.each(KERNEL_DEVICES)('products on $name', ({ open, roundsActivations }) => {
  let device: Device
  beforeAll(async () => {
    device = await open()
  })
  afterAll(() => device.destroy())

  describe.each(FORMATS)('%s', (format) => {
    const q4 = format.startsWith('q4')
    // Rows that no tile divides, columns that no workgroup divides; one count of tokens for each way of computing.
    const shapes: [rows: number, columns: number, tokens: number[]][] =
      format === 'q4f16'
        ? [
            [1, 32, [2]],
            [70, 96, [1, 3]],
            [129, 1088, [1, 7, 70]],
          ]
        : q4
          ? [[70, 544, [1, 70]]]
          : format === 'f32'
            ? [
                [1, 8, [1]],
                [70, 72, [2, 13]],
                [129, 1000, [1, 70]],
              ]
            : [[70, 1000, [1, 70]]]
    for (const [rows, columns, counts] of shapes) {
      for (const tokens of counts) {
        it(`${rows} x ${columns} by ${tokens}`, async () => {
          const chance = new Chance(rows * 31 + tokens)
          const known = knownMatrix(chance, format, rows, columns)
          const x = chance.floats(tokens * columns)
          await check(device, known, x, tokens, {}, bound(format, roundsActivations))
        })
      }
    }

    for (const tokens of format === 'q4f16' || format === 'f16' ? [1, 40] : []) {
      it(`with norm, bias and addition, ${tokens} rows`, async () => {
        const chance = new Chance(tokens)
        const known = knownMatrix(chance, format, 46, 160)
        const x = chance.floats(tokens * 160, 3)
        const options = { gain: chance.floats(160), bias: chance.floats(46), start: chance.floats(tokens * 46) }
        await check(device, known, x, tokens, options, bound(format, roundsActivations))
      })

      it(`gated, ${tokens} rows`, async () => {
        const chance = new Chance(tokens)
        const known = knownMatrix(chance, format, 2 * 37, 96, 0.2)
        const x = chance.floats(tokens * 96)
        const options = { gain: chance.floats(96), gated: true }
        await check(device, known, x, tokens, options, bound(format, roundsActivations))
      })
    }
  })
})

/**
 * Relative to sum |w x|: f32 sums of up to 1,088 products lose some 2^-20 in any order; rounding activations to 8 bits
 * loses half a step, 1/254 of a block's greatest, for each.
 */
function bound(format: Format, roundsActivations: boolean): number {
  return format.startsWith('q4') && roundsActivations ? 0.012 : 4e-6
}
