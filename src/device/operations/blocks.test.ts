/** Matrices in ggml's blocks on each device: their values are those that llama.cpp's own library reads. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FULL } from '../../../test/support/full.js'
// scripts/gguf/block_types.py.
import fixture from '../../models/files/formats/gguf/types.fixture.json' with { type: 'json' }
import { BLOCK_TYPES, type BlockType, blockBytes } from '../../platform/block-types.js'
import type { Device } from '../contract.js'
import { BYTE_PRODUCTS } from '../cpu/byte-products.js'
import { openCpuDevice } from '../cpu/index.js'
import { variants } from '../cpu/kernels.test-helper.js'
import { DEVICES, type DeviceCase, KERNEL_DEVICES, shared } from './devices.test-helper.js'
import { embed } from './embed/index.js'
import { matmul } from './matmul/index.js'
import { BLOCK_FORMATS, BLOCK_KINDS, Chance, knownMatrix } from './numbers.test-helper.js'
import { check } from './project.test-helper.js'

const CPUS: DeviceCase[] = variants.flatMap((variant) =>
  (variant === 'relaxed' ? BYTE_PRODUCTS : [undefined]).map((byteProducts) => ({
    name: ['cpu', variant, ...(byteProducts ? [byteProducts] : [])].join(', '),
    open: () => openCpuDevice({ variant, ...(byteProducts && { byteProducts }) }),
    roundsActivations: true,
    cases: 'all',
  })),
)
const ALL = [...KERNEL_DEVICES.filter(({ name }) => name !== 'cpu'), ...CPUS]
const bytesOf = (base64: string) => Uint8Array.from(Buffer.from(base64, 'base64'))
const judged = fixture as Record<string, { bytes: string; values: string }>

/** Rows of a table by their numbers. */
async function rowsOf(device: Device, table: ReturnType<Device['matrix']>, rows: readonly number[]) {
  const out = device.activations(rows.length, table.columns)
  const pass = device.begin({ spans: [{ tokens: Int32Array.from(rows), position: 0, pages: new Int32Array(1) }] })
  pass.run(embed, table, out)
  const reading = pass.read(out, rows.length)
  await pass.submit()
  out.destroy()
  return reading
}

/** A product of f32 sums of a thousand values, or of activations in 8 bits: as in `project.test.ts`. */
const bound = ({ roundsActivations }: DeviceCase) => (roundsActivations ? 0.012 : 8e-6)

describe.each(ALL)('blocks on $name', (of) => {
  let device: Device
  beforeAll(async () => {
    device = await of.open()
  })
  afterAll(() => device.destroy())

  it.each(BLOCK_FORMATS)('%s is read as llama.cpp reads it', async (type) => {
    const { bytes, values } = judged[type.toUpperCase()]!
    const expected = new Float32Array(bytesOf(values).buffer)
    const table = device.matrix({ format: type, rows: 1, columns: expected.length, data: bytesOf(bytes) })
    const got = await rowsOf(device, table, [0])
    table.destroy()
    const most = Math.max(...expected.map(Math.abs))
    // A product and a difference in f32.
    got.forEach((value, i) => {
      expect(Math.abs(value - expected[i]!), `value ${i}`).toBeLessThanOrEqual(most * 2 ** -22)
    })
  })

  it.each(BLOCK_FORMATS)('%s takes no more memory than in its file', (type) => {
    const before = device.memory.bytes
    const { data } = knownMatrix(new Chance(3), type, 64, 512)
    const matrix = device.matrix(data)
    const { bytes } = matrix
    expect(bytes).toBe(64 * blockBytes(type, 512))
    expect(device.memory.bytes - before).toBe(bytes)
    expect(device.matrixBytes({ format: type, rows: 64, columns: 512, scaleType: 'f16' })).toBe(bytes)
    matrix.destroy()
  })

  // A software GPU takes seconds to compile a shader: there each type is multiplied with many rows, and each kind with one,
  // which takes longest; and with unusual cuts some.
  const gpu = of.name.startsWith('webgpu')
  const some: readonly BlockType[] = ['q4_k', 'q6_k', 'q5_1']
  for (const type of gpu && of.cases === 'few' ? shared(of, some) : BLOCK_FORMATS) {
    // Odd rows; a row of blocks that are no whole number of words; one token, four and what is left, many.
    const columns = BLOCK_TYPES[type].values === 256 ? 768 : 800
    const onGpu = of.cases === 'few' ? [2] : BLOCK_KINDS.includes(type) ? [1, 40] : [40]
    const counts = gpu ? onGpu : [1, 7, 40]
    it.each(counts)(`${type} by %i`, async (tokens) => {
      const chance = new Chance(tokens)
      const known = knownMatrix(chance, type, 45, columns, 0.2)
      const options = tokens === 7 ? { gain: chance.floats(columns), bias: chance.floats(45) } : {}
      await check(device, known, chance.floats(tokens * columns), tokens, options, bound(of))
    })
  }
})

describe.each(DEVICES)('bands of several forms on $name', (of) => {
  let device: Device
  beforeAll(async () => {
    device = await of.open()
  })
  afterAll(() => device.destroy())

  const stack = (chance: Chance, bands: readonly [Parameters<typeof knownMatrix>[1], number][]) => {
    const known = bands.map(([format, rows]) => knownMatrix(chance, format, rows, 256, 0.2))
    const rows = bands.reduce((sum, [, rows]) => sum + rows, 0)
    const values = Float64Array.from(known.flatMap(({ values }) => [...values]))
    return { data: { format: 'mixed', rows, columns: 256, bands: known.map(({ data }) => data) }, values } as const
  }

  // A GPU in software compiles a kernel for each band: there, each of the two is one row or many, and one cut has both.
  const all = FULL || !of.name.startsWith('webgpu')
  it.each(all ? [1, 18] : of.cases === 'few' ? [1] : [18])('are one matrix, %i tokens', async (tokens) => {
    const chance = new Chance(tokens)
    const known = stack(chance, [
      ['q4_k', 24],
      ['q6_k', 13],
      ['f16', 8],
      ['q4_k', 3],
    ])
    const options = { gain: chance.floats(256), bias: chance.floats(48), start: chance.floats(tokens * 48) }
    await check(device, known, chance.floats(tokens * 256), tokens, options, bound(of))
  })

  it.each(all ? [1, 18] : of.cases === 'few' ? [] : [1])('may be gates and their values, %i tokens', async (tokens) => {
    const chance = new Chance(tokens + 1)
    const known = stack(chance, [
      ['q5_k', 32],
      ['q8_0', 32],
    ])
    const options = { gain: chance.floats(256), gated: true }
    await check(device, known, chance.floats(tokens * 256), tokens, options, bound(of))
  })
})

describe.each(CPUS)('a row of activations on $name', ({ open }) => {
  it.each(BLOCK_FORMATS)('has the same product with %s alone and among others', async (type) => {
    const device = await open()
    const chance = new Chance(9)
    const matrix = device.matrix(knownMatrix(chance, type, 40, 512).data)
    const table = device.matrix(knownMatrix(chance, 'f32', 7, 512).data)
    const product = async (tokens: readonly number[]) => {
      const [x, out] = [device.activations(7, 512), device.activations(7, 40)]
      const spans = [{ tokens: Int32Array.from(tokens), position: 0, pages: new Int32Array(1) }]
      const pass = device.begin({ spans })
      pass.run(embed, table, x)
      pass.run(matmul, matrix, x, out)
      const read = pass.read(out, tokens.length)
      await pass.submit()
      return read
    }
    const together = await product([0, 1, 2, 3, 4, 5, 6])
    for (const token of [0, 3, 6]) {
      expect(await product([token])).toEqual(together.slice(40 * token, 40 * (token + 1)))
    }
    device.destroy()
  })
})

describe.each(CPUS)('sums on $name', ({ open }) => {
  it.each(BLOCK_FORMATS)('hold what is greatest in %s', async (type) => {
    const device = await open()
    const columns = 512
    const block = BLOCK_TYPES[type]
    const { bytes, halves } = block
    for (const fill of [0xff, 0x7f, 0]) {
      const data = new Uint8Array(blockBytes(type, columns)).fill(fill)
      for (let at = 0; at < data.length; at += bytes) for (const half of halves) data.set([0, 0x3c], at + half)
      if ('power' in block) for (let at: number = block.power; at < data.length; at += bytes) data[at] = 127
      const matrix = device.matrix({ format: type, rows: 1, columns, data })
      const [values, sizes] = [await rowsOf(device, matrix, [0]), device.activations(5, columns)]
      const out = device.activations(5, 1)
      const signs = [1, -1, 1, -1, 1]
      const pass = device.begin({ spans: [{ tokens: new Int32Array(5), position: 0, pages: new Int32Array(1) }] })
      pass.write(
        sizes,
        Float32Array.from({ length: 5 * columns }, (_, i) => signs[Math.floor(i / columns)]!),
      )
      pass.run(matmul, matrix, sizes, out)
      const reading = pass.read(out, 5)
      await pass.submit()
      const sum = values.reduce((total, value) => total + value, 0)
      const size = values.reduce((total, value) => total + Math.abs(value), 0)
      for (const [i, value] of (await reading).entries()) {
        expect(Math.abs(value - signs[i]! * sum), `${fill}, ${i}`).toBeLessThanOrEqual(size * 2 ** -18)
      }
      for (const one of [matrix, sizes, out]) one.destroy()
    }
    device.destroy()
  })
})
