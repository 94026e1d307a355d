import fs, { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Device, Matrix } from '../device/contract.js'
import { openCpuDevice } from '../device/cpu/index.js'
import { matmul } from '../device/operations/matmul/index.js'
import { Chance, type Known, knownMatrix } from '../device/operations/numbers.test-helper.js'
import { storedRows } from './files/rows.js'
import { sliceOfFile } from './files/slice-of-file.js'
import type { WeightSource } from './files/source.js'
import type { PlannedMatrix } from './planned.js'
import { areNumbers } from './stored-values.js'
import { TensorLoader } from './tensors.js'

const MIB = 1048576
const [ROWS, COLUMNS] = [5000, 1024]

/** A matrix of ten MB in two tensors, and what is asked for of them. */
function sourceOf(
  known: Known,
  change: (read: Uint8Array, tensor: string, from: number) => Uint8Array = (read) => read,
) {
  if (known.data.format === 'q4' || known.data.format === 'f32') throw new TypeError('In 16 bits.')
  const { data, format } = known.data
  const split = 2000
  const stored = new Map([
    ['upper', data.subarray(0, split * COLUMNS * 2)],
    ['lower', data.subarray(split * COLUMNS * 2)],
  ])
  const reads: number[] = []
  const source: WeightSource = {
    chatConfig: {},
    names: [...stored.keys()].map((name) => `${name}.weight`),
    digest: '',
    has: () => true,
    describe: (name) => ({ name, shape: [name.startsWith('upper') ? split : ROWS - split, COLUMNS], dtype: format }),
    async read(name) {
      throw new Error(`${name} was read whole.`)
    },
    rows: (name) =>
      storedRows(format, COLUMNS, async (from, to, _, into) => {
        reads.push(to - from)
        into!.set(stored.get(name)!.subarray(from, to))
        return change(into!.subarray(0, to - from), name, from)
      }),
  }
  const planned: PlannedMatrix = {
    parts: [
      { name: 'upper', rows: split, stored: format },
      { name: 'lower', rows: ROWS - split, stored: format },
    ],
    rows: ROWS,
    columns: COLUMNS,
    scaleType: 'f16',
    quantize: false,
  }
  return { source, planned, reads }
}

async function product(device: Device, matrix: Matrix): Promise<Float32Array> {
  const [x, out] = [device.activations(1, COLUMNS), device.activations(1, ROWS)]
  const pass = device.begin({ spans: [{ tokens: new Int32Array(1), position: 0, pages: new Int32Array(1) }] })
  pass.write(x, new Chance(3).floats(COLUMNS))
  pass.run(matmul, matrix, x, out)
  const reading = pass.read(out, 1)
  await pass.submit()
  x.destroy()
  out.destroy()
  return reading
}

describe('a large matrix on its way to a device', () => {
  const known = knownMatrix(new Chance(1), 'bf16', ROWS, COLUMNS)
  let device: Device
  beforeAll(async () => {
    device = await openCpuDevice({ threads: 1 })
  })
  afterAll(() => device.destroy())

  it('is never in memory whole beside it', async () => {
    const { source, planned, reads } = sourceOf(known)
    const whole = device.matrix(known.data)
    const expected = await product(device, whole)
    const matrix = await new TensorLoader(device, source).matrix(planned)
    expect(await product(device, matrix)).toEqual(expected)
    expect(Math.max(...reads)).toBeLessThanOrEqual(4 * MIB)
    expect(reads.reduce((sum, bytes) => sum + bytes, 0)).toBe(2 * ROWS * COLUMNS)
  })

  it('gets four bits on its way, a few rows at a time', async () => {
    const { source, planned, reads } = sourceOf(known)
    const before = device.memory.bytes
    const loader = new TensorLoader(device, source)
    const matrix = await loader.matrix({ ...planned, quantize: true })
    await loader.close()
    expect(device.memory.bytes - before).toBe(matrix.bytes)
    expect(matrix.bytes).toBe(device.matrixBytes({ format: 'q4', rows: ROWS, columns: COLUMNS, scaleType: 'f16' }))
    expect(reads.length).toBeGreaterThan(2)
    const sum = (of: Float32Array) => of.reduce((all, value) => all + value * value, 0)
    const [four, exact] = [await product(device, matrix), await product(device, device.matrix(known.data))]
    const off = four.map((value, i) => value - exact[i]!)
    // Four bits of a normal distribution.
    expect(Math.sqrt(sum(off) / sum(exact))).toBeLessThan(0.15)
  })

  it.each<[string, Parameters<typeof sourceOf>[1], RegExp]>([
    [
      'is cut',
      (read, name, from) => (name === 'lower' && from > 0 ? read.subarray(2) : read),
      /Tensor lower\.weight is/,
    ],
    [
      'is damaged',
      (read, name, from) => {
        if (name === 'lower' && from > 0) read.fill(255, 100, 102)
        return read
      },
      /Tensor lower\.weight holds values that are not numbers/,
    ],
  ])('is refused where it %s, and nothing stays', async (_, change, message) => {
    const { source, planned } = sourceOf(known, change)
    const before = device.memory
    const loader = new TensorLoader(device, source)
    await expect(loader.matrix(planned)).rejects.toThrow(message)
    await loader.close()
    for (const made of loader.made) made.destroy()
    expect(device.memory).toEqual(before)
  })

  it('holds no numbers where an exponent of MXFP4 is the one that says so', () => {
    const { data } = knownMatrix(new Chance(4), 'mxfp4', 8, 64)
    if (data.format !== 'mxfp4') throw new TypeError('It is in another form.')
    expect(areNumbers(data.data, data.format)).toBe(true)
    // The last block's.
    expect(areNumbers(data.data.with(-17, 255), data.format)).toBe(false)
  })

  it('is loaded beside one other, and after a failure none begins', async () => {
    const { source, planned } = sourceOf(known)
    const begun = new Set<string>()
    let [loading, most] = [0, 0]
    const rows: WeightSource['rows'] = (name) => {
      const [tensor, matrix] = name.split(' ') as [string, string]
      const of = source.rows!(tensor)
      return {
        ...of,
        async read(from, to, signal, into) {
          begun.add(matrix)
          most = Math.max(most, ++loading)
          await new Promise((resolve) => setTimeout(resolve, 1))
          loading--
          if (matrix === '2') throw new Error('The second is gone.')
          return of.read(from, to, signal, into)
        },
      }
    }
    const describe: WeightSource['describe'] = (name) => source.describe(name)
    const loader = new TensorLoader(device, { ...source, rows, describe })
    const loads = [1, 2, 3, 4, 5, 6].map((i) =>
      loader.matrix({ ...planned, parts: planned.parts.map((part) => ({ ...part, name: `${part.name} ${i}` })) }),
    )
    const settled = await Promise.allSettled(loads)
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', ...Array(5).fill('rejected')])
    for (const one of settled.slice(1)) expect(one).toMatchObject({ reason: { message: 'The second is gone.' } })
    expect([...begun]).toEqual(['1', '2'])
    expect(most).toBeGreaterThan(1)
    for (const made of loader.made) made.destroy()
  })
})

describe('on its way from a file to the kernels', () => {
  const known = knownMatrix(new Chance(2), 'bf16', ROWS, COLUMNS)

  /** Bytes that are copied into memory that threads share while `load` runs: by `set`, as all of them are here. */
  async function copied(load: () => Promise<unknown>): Promise<number> {
    const { set } = Uint8Array.prototype
    let bytes = 0
    Uint8Array.prototype.set = function (from: ArrayLike<number>, at?: number) {
      if (this.buffer instanceof SharedArrayBuffer) bytes += from.length
      set.call(this, from, at)
    }
    try {
      await load()
    } finally {
      Uint8Array.prototype.set = set
    }
    return bytes
  }

  it.each([1, 2])('is read where they find it, and not copied, on %i threads', async (threads) => {
    const { source, planned } = sourceOf(known)
    const { data } = known.data as { data: Uint8Array }
    const folder = await mkdtemp(join(tmpdir(), 'local-v1-rows-'))
    const path = join(folder, 'rows')
    await fs.writeFile(path, data)
    const device = await openCpuDevice({ threads })
    const rows: WeightSource['rows'] = (name) => {
      const first = name === 'upper' ? 0 : 2 * COLUMNS * planned.parts[0]!.rows
      return storedRows('bf16', COLUMNS, (from, to, _, into) => sliceOfFile(fs, path, first + from, first + to, into))
    }
    const before = device.memory.bytes
    const loader = new TensorLoader(device, { ...source, rows, describe: (name) => source.describe(name) })
    const made: Matrix[] = []
    const bytes = await copied(async () => made.push(await loader.matrix(planned)))
    expect(bytes).toBeLessThan(data.length / 100)
    await loader.close()
    // What was read into is given back.
    expect(device.memory.bytes - before).toBe(made[0]!.bytes)
    expect(await copied(async () => made.push(device.matrix(known.data)))).toBeGreaterThanOrEqual(data.length)
    expect(await product(device, made[0]!)).toEqual(await product(device, made[1]!))
    device.destroy()
    await fs.rm(folder, { recursive: true })
  })
})
