/** Matrices whose rows come a few at a time are those whose rows come at once, on each device. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sharedGpu } from '../../../test/support/shared-gpu.js'
import { bandsOf, type Device, type Matrix, type MatrixBand, type MatrixData, rowBytes, shapeOf } from '../contract.js'
import { openCpuDevice } from '../cpu/index.js'
import { openWebGpuDevice } from '../gpu/index.js'
import { matmul } from './matmul/index.js'
import { Chance, type Format, knownMatrix } from './numbers.test-helper.js'

const CASES = [
  { name: 'the CPU', open: () => openCpuDevice() },
  // In parts of few rows, whose borders lie within what comes.
  {
    name: 'a GPU',
    open: async () => openWebGpuDevice({ gpu: await sharedGpu(), serial: true, bindingBytes: 11 * 544 }),
  },
]
const COLUMNS = 256

function stack(formats: readonly (readonly [Format, number])[]): MatrixData {
  const bands = formats.map(([format, rows], i) => knownMatrix(new Chance(i + 1), format, rows, COLUMNS, 0.2).data)
  const rows = bands.reduce((sum, band) => sum + band.rows, 0)
  return bands.length === 1 ? bands[0]! : { format: 'mixed', rows, columns: COLUMNS, bands }
}

function cut(band: MatrixBand, from: number, to: number): MatrixBand {
  const rows = to - from
  const of = (bytes: Uint8Array) => bytes.slice((bytes.length / band.rows) * from, (bytes.length / band.rows) * to)
  if (band.format === 'q4') return { ...band, rows, codes: of(band.codes), scales: of(band.scales) }
  return { ...band, rows, data: of(band.data) }
}

/** So many rows at a time. */
function grow(device: Device, data: MatrixData, step: number, gated: boolean): Matrix {
  const bands = bandsOf(data)
  const { matrix, add } = device.growingMatrix(bands.map(shapeOf), { gated })
  for (const band of bands) {
    for (let from = 0; from < band.rows; from += step) add(cut(band, from, Math.min(band.rows, from + step)))
  }
  return matrix
}

async function product(device: Device, matrix: Matrix, gated: boolean): Promise<Float32Array> {
  const tokens = 2
  const pages = new Int32Array(1)
  const x = new Chance(7).floats(tokens * COLUMNS)
  const input = device.activations(tokens, COLUMNS)
  const out = device.activations(tokens, gated ? matrix.rows / 2 : matrix.rows)
  const pass = device.begin({ spans: [{ tokens: new Int32Array(tokens), position: 0, pages }] })
  pass.write(input, x)
  pass.run(matmul, matrix, input, out, { gated })
  const reading = pass.read(out, tokens)
  await pass.submit()
  const got = await reading
  for (const each of [matrix, input, out]) each.destroy()
  return got
}

describe.each(CASES)('a growing matrix on $name', ({ open }) => {
  let device: Device
  beforeAll(async () => {
    device = await open()
  })
  afterAll(() => device.destroy())

  it.each<[string, (readonly [Format, number])[], boolean]>([
    ['four bits', [['q4f16', 45]], false],
    ['f16, gated', [['f16', 64]], true],
    ['blocks', [['q6_k', 45]], false],
    [
      'bands of several forms',
      [
        ['q4_k', 24],
        ['f16', 13],
        ['q8_0', 11],
      ],
      false,
    ],
  ])('of %s', async (_, formats, gated) => {
    const data = stack(formats)
    const whole = await product(device, device.matrix(data, { gated }), gated)
    expect(whole.some((value) => value !== 0)).toBe(true)
    // As a loader reads them, one by one, and more than a part has.
    for (const step of [8, 1, 29]) {
      expect(await product(device, grow(device, data, step, gated), gated), `${step} at a time`).toEqual(whole)
    }
  })

  it('takes its rows and no more', () => {
    const before = device.memory
    const band = stack([['f32', 16]]) as MatrixBand
    const { matrix, add } = device.growingMatrix([shapeOf(band)])
    add(cut(band, 0, 12))
    expect(() => add(cut(band, 0, 8))).toThrow('more rows')
    add(cut(band, 12, 16))
    expect(() => add(cut(band, 0, 1))).toThrow('more rows')
    expect(matrix.bytes).toBe(16 * rowBytes('f32', COLUMNS))
    matrix.destroy()
    expect(device.memory).toEqual(before)
  })
})
