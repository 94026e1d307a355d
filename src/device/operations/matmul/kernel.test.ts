import { describe, expect, it } from 'vitest'
import type { Activations } from '../../contract.js'
import { CUTS, ROOMY } from '../../gpu/kernels/cuts.js'
import type { StoredFormat, StoredMatrix } from '../../gpu/kernels/formats.js'
import type { GpuTraits, Kernel } from '../../gpu/kernels/kernel.js'
import type { GpuMatrix } from '../../gpu/matrix.js'
import type { GpuRecorder } from '../define.js'
import { gateRowsKernel } from '../gate/kernel.js'
import { dispatchProduct, FEW, type ProductJob } from './kernel.js'

const COLUMNS = 128
const ROWS = 64
const GAIN = { gain: 'gain' as unknown as GPUBuffer, epsilon: 1e-5 }

/** A matrix of parts of these forms, `ROWS` rows together. */
function matrixOf(formats: readonly StoredFormat[], gated = false): GpuMatrix {
  const rows = ROWS / formats.length
  const parts = formats.map((format, i) => {
    const buffers = { values: `values ${i}`, ...(format.startsWith('q4f') && { scales: `scales ${i}` }) }
    return { ...{ format, rows, columns: COLUMNS, first: i * rows, of: ROWS }, ...buffers } as unknown as StoredMatrix
  })
  return { parts, gated, rows: ROWS, columns: COLUMNS } as unknown as GpuMatrix
}

/** The kernels that make a product, and what each reads and writes, in order. */
function madeBy(matrix: GpuMatrix, count: number, traits: Partial<GpuTraits> = {}, job: Partial<ProductJob> = {}) {
  const kernels: Kernel[] = []
  const buffers: string[] = []
  const scratch: number[] = []
  const pass = {
    traits: { serial: false, lanes: 1, half: false, ...traits },
    ...{ rows: count, few: (rows: number) => rows <= FEW, lastPosition: 0, meta: 'meta', tiles: () => 1 },
    ...{ parts: () => matrix.parts, isTogether: () => matrix.gated, buffer: (which: string) => which },
    ...{ normed: () => 'normed', inHalf: () => ({ halves: 'halves', steps: 'steps' }) },
    packed: (_: string, order: string) => ({ words: order, steps: 'steps' }),
    scratch(_out: string, bytes: number) {
      scratch.push(bytes)
      return 'both'
    },
    dispatch(kernel: Kernel, used: readonly string[]) {
      // What it declares is what it is given, and it is written for rows of a known length.
      expect(used).toHaveLength(kernel.bindings.length)
      expect(kernel.source).not.toMatch(/undefined|NaN/)
      kernels.push(kernel)
      buffers.push(used.filter((name) => name !== 'meta' && !/^(values|scales)/.test(name)).join(' '))
    },
  } as unknown as GpuRecorder
  const [from, to] = ['x', 'out'] as unknown as [Activations, Activations]
  const plain = { head: false, add: false, gated: false, gate: 'silu', bias: undefined, norm: undefined } as const
  dispatchProduct(pass, matrix, from, to, { ...plain, count, ...job })
  // Behind what it is there stands the shape of a kernel.
  const names = kernels.map(({ name }) => name.replace(/ (q4|f16|f32).*/, ''))
  return { kernels, names, buffers, scratch }
}

const namesOf = (...given: Parameters<typeof madeBy>) => madeBy(...given).names

describe('a product', () => {
  it('of few rows reads the weights once for some of them; of many it is tiled, but in software', () => {
    for (const format of ['q4f16', 'f16', 'f32'] as const) {
      expect(namesOf(matrixOf([format]), 1)).toEqual(['matvec'])
      expect(namesOf(matrixOf([format]), FEW)).toEqual(['matvec'])
      expect(namesOf(matrixOf([format]), FEW + 1)).toEqual(['matmul'])
      expect(namesOf(matrixOf([format]), FEW + 1, { serial: true })).toEqual(['matvec'])
      expect(madeBy(matrixOf([format]), FEW + 1).buffers).toEqual(['x out'])
    }
  })

  it('of many rows is made in halves where the GPU computes in them and the weights have four bits', () => {
    const half = { half: true }
    const { names, buffers } = madeBy(matrixOf(['q4f16']), FEW + 1, half)
    expect([names, buffers]).toEqual([
      ['toHalf', 'matmul half'],
      ['x halves steps', 'halves steps out'],
    ])
    expect(namesOf(matrixOf(['q4f16']), FEW, half)).toEqual(['matvec'])
    expect(namesOf(matrixOf(['f16']), FEW + 1, half)).toEqual(['matmul'])
    expect(namesOf(matrixOf(['q4f16']), FEW + 1, { half: true, serial: true })).toEqual(['matvec'])
    // Of several forms each has its own kernel; what is halved is halved once.
    const mixed = madeBy(matrixOf(['q4f16', 'f16', 'q4f16', 'f16']), FEW + 1, half)
    expect(mixed.names).toEqual(['toHalf', 'matmul half', 'matmul half', 'matmul', 'matmul'])
    expect(mixed.buffers.slice(3)).toEqual(['x out', 'x out'])
    expect(namesOf(matrixOf(['q4f16', 'f16']), 1)).toEqual(['matvec', 'matvec'])
  })
})

describe('a product in halves', () => {
  const half = (traits: Partial<GpuTraits>) => {
    const { source } = madeBy(matrixOf(['q4f16']), FEW + 1, { half: true, ...traits }).kernels.at(-1)!
    const rooms = [...source.matchAll(/var<workgroup> \w+: array<(\S+), (\d+)>/g)]
    const bytes = rooms.reduce((sum, [, type, count]) => sum + (type === 'f32' ? 4 : 8) * Number(count), 0)
    return { barriers: source.split('workgroupBarrier()').length - 1, bytes }
  }

  it('has one barrier a step where a workgroup has room for the tiles of two, else two', () => {
    const roomy = half({})
    expect(roomy.barriers).toBe(1)
    expect(roomy.bytes).toBeLessThanOrEqual(ROOMY)
    const tight = half({ tight: true })
    expect(tight.barriers).toBe(2)
    expect(tight.bytes).toBeLessThanOrEqual(16384)
    expect(roomy.bytes).toBe(2 * tight.bytes)
  })
})

describe('a product with activations in 8 bits', () => {
  const packed = { packed: true, cuts: { vectors: { ...CUTS.vectors, packed: true } } }

  it('rounds a few rows once for each order of bytes, and multiplies the rest as ever', () => {
    const matrix = matrixOf(['q4f16', 'q8_0', 'q4f32', 'f16', 'q4_k', 'iq4_nl', 'q6_k', 'bf16'])
    const { names, buffers } = madeBy(matrix, FEW, packed, { norm: GAIN })
    expect(names.map((name) => name.replace(/ \d+x.*/, ''))).toEqual([
      ...['toPacked', 'matvecPacked', 'matvecPacked'],
      ...['toPacked', 'matvecPacked q8_0', 'matvecPacked', 'matvecPacked iq4_nl', 'matvecPacked q6_k'],
      ...['matvec', 'matvec bf16'],
    ])
    expect(buffers.filter((_, i) => names[i] === 'toPacked')).toEqual(['x gain nibbles steps', 'x gain bytes steps'])
    expect(buffers.filter((_, i) => names[i]!.startsWith('matvec'))).toEqual([
      ...['nibbles steps out', 'nibbles steps out', ...Array<string>(4).fill('bytes steps out')],
      ...['x gain out', 'x gain out'],
    ])
  })

  it('rounds rows that need no norm as they are', () => {
    const { names, buffers } = madeBy(matrixOf(['q4f16']), 1, packed)
    expect([names, buffers]).toEqual([
      ['toPacked', 'matvecPacked'],
      ['x nibbles steps', 'nibbles steps out'],
    ])
  })

  it('is not made of many rows, in software, unasked, or where the GPU has no such thing', () => {
    const matrix = matrixOf(['q4f16'])
    expect(namesOf(matrix, FEW + 1, packed)).toEqual(['matmul'])
    const { cuts } = packed
    for (const traits of [{ ...packed, serial: true }, { packed: true }, { cuts }, {}]) {
      expect(namesOf(matrix, 1, traits)).toEqual(['matvec'])
    }
    const blocks = { ...packed, cuts: { vectors: { ...CUTS.vectors, packed: true, words: false } } }
    expect(namesOf(matrix, 1, blocks)).toEqual(['matvec'])
  })
})

describe('a product by matrices that subgroups multiply', () => {
  const unit = { M: 16, N: 16, K: 16, lanes: 32 }
  const made = (component: 'f16' | 'f32', formats: readonly StoredFormat[], count = FEW + 1, traits = {}) => {
    const gpu = { half: true, matrices: { ...unit, component }, ...traits }
    const { names, buffers } = madeBy(matrixOf(formats), count, gpu, { norm: GAIN })
    return [names.map((name) => name.replace(/ \d+x.*/, '')), buffers]
  }

  it('is made of many rows of every form but the wide ones, which are halved once', () => {
    expect(made('f16', ['q4f16', 'q4_k', 'f16', 'q6_k'])).toEqual([
      ['toHalf', 'matmul matrices', 'matmul matrices', 'matmul matrices q6_k', 'norm', 'matmul'],
      ['x gain halves steps', ...Array<string>(3).fill('halves steps out'), 'x gain normed', 'normed out'],
    ])
  })

  it('takes rows as they are where the matrices are of f32', () => {
    expect(made('f32', ['q4f16', 'q4_k', 'f16'])).toEqual([
      ['norm', 'matmul matrices', 'matmul matrices', 'matmul'],
      ['x gain normed', ...Array<string>(3).fill('normed out')],
    ])
  })

  it('is not made of few rows, nor in software', () => {
    expect(made('f16', ['q4f16'], FEW)[0]).toEqual(['matvec'])
    expect(made('f16', ['q4f16'], FEW + 1, { serial: true })[0]).toEqual(['norm', 'matvec'])
  })
})

describe('a product of normed rows', () => {
  const job = { norm: GAIN }

  it('norms them as it reads them where they are few, and before where they are many', () => {
    const few = madeBy(matrixOf(['f16', 'f16']), FEW, {}, job)
    expect([few.names, few.buffers]).toEqual([
      ['matvec', 'matvec'],
      ['x gain out', 'x gain out'],
    ])
    expect(few.kernels[0]!.source).not.toBe(madeBy(matrixOf(['f16', 'f16']), FEW).kernels[0]!.source)
    for (const [count, traits, product] of [
      [FEW + 1, {}, 'matmul'],
      [1, { serial: true }, 'matvec'],
    ] as const) {
      const { names, buffers } = madeBy(matrixOf(['f16']), count, traits, job)
      expect([names, buffers]).toEqual([
        ['norm', product],
        ['x gain normed', 'normed out'],
      ])
    }
  })

  it('norms them as it halves them', () => {
    const { names, buffers } = madeBy(matrixOf(['q4f16', 'f16']), FEW + 1, { half: true }, job)
    expect([names, buffers]).toEqual([
      ['toHalf', 'matmul half', 'norm', 'matmul'],
      ['x gain halves steps', 'halves steps out', 'x gain normed', 'normed out'],
    ])
    // And not once more where nothing else reads them.
    expect(namesOf(matrixOf(['q4f16']), FEW + 1, { half: true }, job)).toEqual(['toHalf', 'matmul half'])
    const [normed] = madeBy(matrixOf(['q4f16']), FEW + 1, { half: true }, job).kernels
    const [plain] = madeBy(matrixOf(['q4f16']), FEW + 1, { half: true }).kernels
    expect(normed!.source).not.toBe(plain!.source)
  })
})

describe('what else is asked of a product', () => {
  it('is part of whichever kernel makes it', () => {
    const bias = { bias: 'bias' as unknown as GPUBuffer }
    for (const [count, traits] of [
      [1, {}],
      [FEW + 1, {}],
      [FEW + 1, { half: true }],
    ] as const) {
      const last = (job: Partial<ProductJob>) => {
        const { kernels, buffers } = madeBy(matrixOf(['q4f16']), count, traits, job)
        return { source: kernels.at(-1)!.source, buffers: buffers.at(-1)! }
      }
      expect(last({}).buffers).not.toContain('bias')
      expect(last(bias).buffers).toMatch(/bias out$/)
      const sources = [{}, bias, { add: true }].map((job) => last(job).source)
      expect(new Set(sources).size).toBe(3)
    }
  })

  it('of rows with a gate is made at once where gates and values are of one form', () => {
    const source = (job: Partial<ProductJob>, matrix = matrixOf(['q4f16'], true)) => {
      const { names, kernels } = madeBy(matrix, 1, {}, job)
      expect(names).toEqual(['matvec'])
      return kernels[0]!.source
    }
    const gated = [{ gated: true }, { gated: true, gate: 'gelu' }, {}] as const
    expect(new Set(gated.map((job) => source(job))).size).toBe(3)
    // Without a gate it is no matter which there would be.
    expect(source({ gate: 'gelu' })).toBe(source({}))
    const parts = madeBy(matrixOf(['q4f16', 'q4f16'], true), 1, {}, { gated: true })
    expect([parts.names, parts.scratch]).toEqual([['matvec', 'matvec'], []])
  })

  it('of rows with a gate is made in two steps where they are of several forms', () => {
    const { names, buffers, scratch, kernels } = madeBy(matrixOf(['q4f16', 'f16']), 3, {}, { gated: true })
    expect([names.slice(0, 2), buffers]).toEqual([
      ['matvec', 'matvec'],
      ['x both', 'x both', 'out both both'],
    ])
    expect(scratch).toEqual([3 * ROWS * 4])
    // The first half of each row are gates, the other their values.
    const strides = { gates: ROWS, values: ROWS, out: ROWS / 2 }
    const halves = { gate: 'silu', strides, gatesFrom: 0, valuesFrom: ROWS / 2, within: undefined } as const
    expect(kernels[2]!.source).toBe(gateRowsKernel(halves).source)
    expect(kernels).toHaveLength(3)
    // The parts themselves have no gate.
    const plain = madeBy(matrixOf(['q4f16', 'f16']), 3)
    expect(kernels.slice(0, 2).map(({ source }) => source)).toEqual(plain.kernels.map(({ source }) => source))
    const other = madeBy(matrixOf(['q4f16', 'f16']), 3, {}, { gated: true, gate: 'gelu' })
    expect(other.kernels[2]!.source).not.toBe(kernels[2]!.source)
    expect(() => madeBy(matrixOf(['q4f16', 'q4f16'], true), 1)).toThrow('projected with as such')
  })
})
