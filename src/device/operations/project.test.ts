import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { covering } from '../../../test/support/full.js'
import { sharedGpu } from '../../../test/support/shared-gpu.js'
import type { Device } from '../contract.js'
import { type OpenGpuOptions, openWebGpuDevice } from '../gpu/index.js'
import { CUTS, type Cuts } from '../gpu/kernels/cuts.js'
import type { GpuTraits } from '../gpu/kernels/kernel.js'
import { matvecKernel } from '../gpu/kernels/matvec.js'
import { KERNEL_DEVICES, shared } from './devices.test-helper.js'
import { embed } from './embed/index.js'
import { FEW } from './matmul/kernel.js'
import { BLOCK_KINDS, Chance, FORMATS, type Format, knownMatrix } from './numbers.test-helper.js'
import { type CheckOptions, check } from './project.test-helper.js'

/** A product that each device makes, and what it is asked for besides. */
interface Product {
  readonly rows: number
  readonly columns: number
  readonly tokens: number
  readonly how?: 'with norm, bias and addition' | 'gated' | 'gated and clamped'
}

function productsIn(format: Format): Product[] {
  // Rows that no tile divides, columns that no workgroup divides; one count of tokens for each way of computing.
  const shapes: [rows: number, columns: number, tokens: number[]][] =
    format === 'q4f16'
      ? [
          [1, 32, [2]],
          [70, 96, [1, 3]],
          [129, 1088, [1, 7, 70]],
          // So many that a row has fewer lanes.
          [8201, 96, [1]],
          [8201, 192, [3]],
        ]
      : format.startsWith('q4')
        ? [[70, 544, [1, 70]]]
        : format === 'f32'
          ? [
              [1, 8, [1]],
              [70, 72, [2, 13]],
              [129, 1000, [1, 70]],
            ]
          : [[70, 1000, [1, 70]]]
  const plain = shapes.flatMap(([rows, columns, counts]) => counts.map((tokens) => ({ rows, columns, tokens })))
  const more = ([1, 40] as const).flatMap((tokens): Product[] => [
    ...(format === 'q4f16' || format === 'f16'
      ? ([
          { rows: 46, columns: 160, tokens, how: 'with norm, bias and addition' },
          { rows: 2 * 37, columns: 96, tokens, how: 'gated' },
        ] as const)
      : []),
    ...(format === 'f16' ? ([{ rows: 2 * 40, columns: 96, tokens, how: 'gated and clamped' }] as const) : []),
  ])
  return [...plain, ...more]
}

/**
 * What a GPU in software, which compiles each for a second, holds by a product. On hardware it is how many rows an invocation
 * takes, what else is asked for of few rows and of many, and where a row has fewer lanes. Cut for software many are as few,
 * and a row has one lane; the unusual cuts differ in how one row, several and many are added up.
 */
function heldBy({ rows, columns, tokens, how }: Product, cut: 'hardware' | 'software' | 'others'): string[] {
  const many = tokens > FEW
  const several = cut === 'software' || tokens <= 4 ? '4' : '8'
  const together = tokens <= 2 ? `${tokens}` : many && cut !== 'software' ? 'many' : several
  const asked = how ?? 'nothing else'
  if (cut === 'software') return [together, asked]
  const tall = rows > 8192 ? [`tall ${tokens === 1}`] : []
  if (cut === 'others') return [together === '1' || many ? together : 'several', asked, ...tall]
  return [together, `${many} ${asked}`, ...tall, ...(columns > 1000 ? [`${many} long`] : [])]
}

describe.each(KERNEL_DEVICES)('products on $name', ({ name, open, roundsActivations, turn, cases }) => {
  const cut = turn !== undefined ? 'others' : cases === 'few' ? 'software' : 'hardware'
  let device: Device
  beforeAll(async () => {
    device = await open()
  })
  afterAll(() => device.destroy())

  const [usual, ...others] = FORMATS
  describe.each([usual!, ...shared({ turn }, others)])('%s', (format) => {
    const all = productsIn(format)
    // Of two that hold the same, the one of fewer columns.
    const some = name.startsWith('webgpu')
      ? covering(
          all,
          (of) => heldBy(of, cut),
          ({ columns }) => columns,
        )
      : all
    for (const { rows, columns, tokens, how } of some) {
      it(`${rows} x ${columns} by ${tokens}${how ? `, ${how}` : ''}`, async () => {
        const chance = new Chance(rows * 31 + tokens)
        // Of what is multiplied where it is clamped, some goes beyond the bounds.
        const scale = how === 'gated' ? 0.2 : how === 'gated and clamped' ? 0.5 : 1
        const known = knownMatrix(chance, format, rows, columns, scale)
        const x = chance.floats(tokens * columns, how === 'with norm, bias and addition' ? 3 : 1)
        const options: CheckOptions =
          how === 'with norm, bias and addition'
            ? { gain: chance.floats(columns), bias: chance.floats(rows), start: chance.floats(tokens * rows) }
            : how === 'gated'
              ? { gain: chance.floats(columns), gated: true }
              : how === 'gated and clamped'
                ? { bias: chance.floats(rows, 6), gated: true, clamped: true }
                : {}
        await check(device, known, x, tokens, options, bound(format, roundsActivations))
      })
    }
  })
})

// Which tile a product is cut by depends on how many rows there are: a row must not notice.
it.each<[string, Format, rows: number, columns: number, tokens: number, { gated?: boolean; bias?: boolean }]>([
  ['rows and columns that no tile divides', 'q4f16', 150, 544, 140, {}],
  ['columns that no step divides, a bias and an addition', 'f16', 70, 1000, 33, { bias: true }],
  ['gated', 'q4f32', 2 * 73, 96, 130, { gated: true }],
])('products in tiles of each size are the same to the bit: %s', async (_, format, rows, columns, tokens, how) => {
  const { gated = false, bias = false } = how
  const chance = new Chance(rows)
  const known = knownMatrix(chance, format, rows, columns, 0.2)
  const x = chance.floats(tokens * columns)
  const options = bias ? { bias: chance.floats(rows), start: chance.floats(tokens * rows) } : { gated }
  const answers: Float32Array[] = []
  for (const cut of CUTS.matmul) {
    const cuts = { matmul: [{ ...cut, least: 1 }] }
    const device = await openWebGpuDevice({ gpu: await sharedGpu(), serial: false, half: false, cuts })
    answers.push(await check(device, known, x, tokens, options, bound(format, false)))
    device.destroy()
  }
  expect(answers.length).toBeGreaterThan(1)
  for (const answer of answers) expect(answer).toEqual(answers[0])
})

describe('one row, all of whose lanes reach each other', () => {
  const vectors = { words: true, lanes: 4, one: { held: 4, threads: 64 }, several: { held: 4, threads: 64 } } as const

  const sourceFor = (traits: Partial<GpuTraits>, tokens: number, columns = 2048) => {
    const shape = { format: 'q4f16', rows: 64, columns, first: 0, of: 64, tokens, epsilon: 1e-5 } as const
    const gpu = { serial: false, lanes: 1, half: false, ...traits }
    return matvecKernel({ ...shape, bias: true, add: false, gated: true, head: false }, gpu).source
  }

  it('is summed up without a barrier, and without memory that a workgroup shares', () => {
    const source = (lanes: number, tokens: number, near: number) => {
      const cut = { vectors: { ...vectors, lanes } } as Partial<Cuts>
      return sourceFor({ lanes: near, cuts: cut }, tokens)
    }
    for (const lanes of [4, 32, 64]) {
      expect(source(lanes, 1, lanes)).not.toMatch(/workgroupBarrier|var<workgroup>/)
      expect(source(lanes, 1, lanes / 2)).toMatch(/workgroupBarrier/)
      expect(source(lanes, 2, lanes)).toMatch(/workgroupBarrier/)
    }
  })

  it('is so however long it is where a workgroup shares 16 KB, which several rows have room in too', () => {
    for (const columns of [96, 2048, 16384]) {
      expect(sourceFor({ tight: true, lanes: 32 }, 1, columns)).not.toMatch(/workgroupBarrier/)
      for (const lanes of [1, 4, 16, 32, 64]) {
        const [, floats] = /var<workgroup> parts: array<f32, (\d+)>/.exec(
          sourceFor({ tight: true, lanes }, 8, columns),
        )!
        expect(4 * Number(floats)).toBeLessThanOrEqual(16384)
      }
    }
  })

  it.each<[string, Format, rows: number, columns: number, CheckOptions, OpenGpuOptions]>([
    [
      'with bias and addition',
      'q4f16',
      70,
      544,
      { bias: floatsOf(70), start: floatsOf(2 * 70) },
      { cuts: { vectors } },
    ],
    ['normed and gated', 'q4f32', 2 * 37, 96, { gain: floatsOf(96), gated: true }, { cuts: { vectors } }],
    ['long, in 16 KB', 'q4f16', 70, 1088, { bias: floatsOf(70), gain: floatsOf(1088) }, { workgroupBytes: 16384 }],
  ])('gives to the bit what it gives beside another: %s', async (_, format, rows, columns, options, gpu) => {
    const device = await openWebGpuDevice({ gpu: await sharedGpu(), serial: false, half: false, ...gpu })
    const chance = new Chance(rows)
    const known = knownMatrix(chance, format, rows, columns, 0.2)
    const x = chance.floats(2 * columns)
    const both = await check(device, known, x, 2, options, bound(format, false))
    const one = await check(device, known, x.subarray(0, columns), 1, options, bound(format, false))
    expect(one).toEqual(both.subarray(0, one.length))
    device.destroy()
  })
})

describe('activations in 8 bits, four to a word', () => {
  let device: Device
  beforeAll(async () => {
    const cuts = { vectors: { ...CUTS.vectors, packed: true } }
    device = await openWebGpuDevice({ gpu: await sharedGpu(), serial: false, half: false, cuts })
    // The probe holds on every adapter that tests run on.
    expect(device.info.kernels).toMatch(/ packed /)
  })
  afterAll(() => device.destroy())

  // What is rounded to 8 bits by the definition in float64 loses no more when the device rounds it again.
  it.each<[Format, rows: number, columns: number, tokens: number, CheckOptions]>([
    ['q4f16', 70, 544, 1, { bias: floatsOf(70), start: floatsOf(70) }],
    ['q4f32', 2 * 37, 96, 3, { gated: true }],
    ['q8_0', 70, 544, 1, {}],
    ['q8_0', 33, 96, 2, { bias: floatsOf(33) }],
    ...BLOCK_KINDS.filter((format) => format !== 'q8_0').map(
      (format): [Format, number, number, number, CheckOptions] => [format, 37, 768, 1, {}],
    ),
    ['q4_k', 2 * 19, 512, 3, { bias: floatsOf(38), gated: true }],
    ['q6_k', 33, 512, 2, { start: floatsOf(2 * 33) }],
  ])('%s, %d x %d by %d', async (format, rows, columns, tokens, options) => {
    const chance = new Chance(rows + columns)
    const known = knownMatrix(chance, format, rows, columns, 0.2)
    const x = inEightBits(chance.floats(tokens * columns))
    // A block of zeros has no step.
    x.fill(0, 32, 64)
    await check(device, known, x, tokens, options, bound(format, false))
  })

  it.each<[Format, columns: number]>([
    ['q4f16', 160],
    ['q4_k', 512],
  ])('normed before it is rounded, %s, and beside another to the bit as alone', async (format, columns) => {
    const chance = new Chance(5)
    const known = knownMatrix(chance, format, 2 * 37, columns, 0.2)
    const options = { gain: chance.floats(columns), gated: true }
    const x = chance.floats(2 * columns, 3)
    const both = await check(device, known, x, 2, options, bound('q4f16', true))
    const one = await check(device, known, x.subarray(0, columns), 1, options, bound('q4f16', true))
    expect(one).toEqual(both.subarray(0, one.length))
  })
})

/** Of 32 the greatest becomes 127 steps, and each a whole number of them. */
function inEightBits(values: Float32Array): Float32Array {
  return values.map((value, i) => {
    const step = Math.max(...values.subarray(i - (i % 32), i - (i % 32) + 32).map(Math.abs)) / 127
    return Math.round(value / step) * step
  })
}

describe.each([true, false])('a matrix too large for one binding, cut for software: %s', (serial) => {
  // Eleven rows of 544 columns in 4 bits fit, two of these in f32, and four gates with their values. Each part has a kernel
  // of its own: a first, one in the middle and a last, shorter one are enough.
  const bindingBytes = 11 * 272
  let device: Device
  beforeAll(async () => {
    device = await openWebGpuDevice({ gpu: await sharedGpu(), serial, bindingBytes })
  })
  afterAll(() => device.destroy())

  const product =
    (format: Format, rows: number, tokens: number, gated = false) =>
    async () => {
      const chance = new Chance(rows + tokens)
      const known = knownMatrix(chance, format, rows, 544, 0.2)
      expect(known.data.rows * 544 * (format === 'f32' ? 4 : 0.5)).toBeGreaterThan(device.limits.tensorBytes)
      const options = gated ? { gain: chance.floats(544), gated } : { bias: chance.floats(rows) }
      await check(device, known, chance.floats(tokens * 544), tokens, options, 4e-6)
    }
  it('in 4 bits, odd rows', product('q4f16', 27, 1))
  it('in f32', product('f32', 7, 2))
  it('gated', product('q4f16', 2 * 9, 3, true))
  it('gated, many rows', product('q4f32', 2 * 9, 20, true))

  it('is read as a table', async () => {
    const { data, values } = knownMatrix(new Chance(1), 'q4f16', 30, 544)
    const table = device.matrix(data)
    const out = device.activations(4, 544)
    const tokens = Int32Array.of(29, 0, 11, 10)
    const pass = device.begin({ spans: [{ tokens, position: 0, pages: new Int32Array(1) }] })
    pass.run(embed, table, out)
    const reading = pass.read(out, 4)
    await pass.submit()
    expect(await reading).toEqual(
      Float32Array.from([...tokens].flatMap((token) => [...values.subarray(token * 544, (token + 1) * 544)])),
    )
    table.destroy()
    out.destroy()
  })
})

/**
 * Relative to sum |w x|: f32 sums of up to 1,088 products lose some 2^-20 in any order; rounding activations to 8 bits
 * loses half a step, 1/254 of a block's greatest, for each.
 */
function bound(format: Format, roundsActivations: boolean): number {
  return format.startsWith('q4') && roundsActivations ? 0.012 : 4e-6
}

function floatsOf(count: number): Float32Array {
  return new Chance(count).floats(count)
}
