import { describe, expect, it } from 'vitest'
import { gateCode } from '../contract.js'
import { BF16, F16, F32, Q4 } from './abi.js'
import { PAIRS, SUMS_BYTES } from './block-kinds.js'
import {
  type Bench,
  bench,
  floats,
  fromBrain,
  fromHalf,
  matrixQ4,
  random,
  toBrain,
  toHalf,
  variants,
} from './kernels.test-helper.js'
import { unpackingRoom } from './matrix.js'
import type { KernelVariant } from './wasm.js'

const KIND: Record<string, number> = { f32: F32, f16: F16, bf16: BF16 }
/** A product of one thread that adds nothing. */
const PLAIN = { add: false, bias: 0, unpacked: 0, unpackedGap: 0, xGap: 0 }

/** Rounding of one f32 operation. */
const ULP = 2 ** -24

/** An f32 sum of `terms` terms is off by at most so much of the sum of their magnitudes. */
const sumBound = (terms: number) => (terms + 4) * ULP

function product(w: ArrayLike<number>, x: ArrayLike<number>, n: number, k: number, t: number) {
  const exact = new Float64Array(n)
  const magnitude = new Float64Array(n)
  for (let row = 0; row < n; row++) {
    for (let i = 0; i < k; i++) {
      const term = w[row * k + i]! * x[t * k + i]!
      exact[row]! += term
      magnitude[row]! += Math.abs(term)
    }
  }
  return { exact, magnitude }
}

function expectWithin(actual: Float32Array, exact: Float64Array, bound: (i: number) => number) {
  for (let i = 0; i < exact.length; i++) {
    const off = Math.abs(actual[i]! - exact[i]!)
    if (!(off <= bound(i)))
      expect.fail(`element ${i}: ${actual[i]} instead of ${exact[i]}, off by ${off} > ${bound(i)}`)
  }
}

/** Each build, and by pairs the one that multiplies bytes. */
const Q4_WAYS: readonly { readonly name: string; readonly variant: KernelVariant; readonly kind: number }[] = [
  ...variants.map((variant) => ({ name: variant, variant, kind: Q4 })),
  ...variants.slice(1).map((variant) => ({ name: `${variant}, by pairs`, variant, kind: Q4 + PAIRS })),
]

/** A product with a 4-bit matrix. */
function multiplyQ4(on: Bench, kind: number, w: number, x: number, y: number, n: number, k: number, tokens: number) {
  const args = on.argumentsOf('matmul', {
    ...PLAIN,
    ...{ kind, matrix: w, x, xStride: (k / 32) * on.activationBlock, y, yStride: n * 4 },
    ...{ rows: n, columns: k, tokens, unpacked: on.room(k * 16 + SUMS_BYTES) },
  })
  on.call.matmul!(args, 0, Math.ceil(n / 8), 0)
}

describe.each(Q4_WAYS)('4-bit matrices ($name)', ({ variant, kind }) => {
  it.each([
    [1, 32, 1],
    [3, 64, 4],
    [8, 96, 5],
    [13, 288, 9],
    [21, 32, 2],
    [64, 1536, 4],
  ])('multiply %i x %i with %i tokens within the rounding of activations', async (n, k, tokens) => {
    const on = await bench(variant)
    const { call, room, put, putRows, floats: read, activationBlock } = on
    const { codes, scales, values } = matrixQ4(n, k, n * k)
    const x = floats(tokens * k, 7, 3)
    const blocks = k / 32
    const groups = Math.ceil(n / 8)
    const w = room(groups * blocks * 160)
    call.packQ4!(putRows(codes, n), putRows(scales, n), false, w, 0, Math.ceil(n / 8), blocks)
    const prepared = room(tokens * blocks * activationBlock)
    call.quantize!(put(x), k * 4, prepared, 0, tokens, blocks)
    const y = room(tokens * n * 4)
    multiplyQ4(on, kind, w, prepared, y, n, k, tokens)
    for (let t = 0; t < tokens; t++) {
      const { exact, magnitude } = product(values, x, n, k, t)
      // Rounding an activation moves it by at most 1/254 of the largest of its block.
      const slack = new Float64Array(n)
      for (let b = 0; b < blocks; b++) {
        const peak = Math.max(...x.subarray(t * k + b * 32, t * k + b * 32 + 32).map(Math.abs))
        for (let row = 0; row < n; row++) {
          for (let i = 0; i < 32; i++) slack[row]! += (Math.abs(values[row * k + b * 32 + i]!) * peak) / 254
        }
      }
      expectWithin(read(y + t * n * 4, n), exact, (i) => slack[i]! * 1.0001 + magnitude[i]! * sumBound(blocks + 4))
    }
  })

  it('multiply exactly where activations are whole numbers up to 127', async () => {
    const on = await bench(variant)
    const { call, room, put, putRows, floats: read, activationBlock } = on
    const [n, k] = [11, 64]
    const next = random(5)
    const codes = matrixQ4(n, k, 3).codes
    const x = Float32Array.from({ length: k }, (_, i) => (i % 32 === 0 ? 127 : Math.round(next() * 254 - 127)))
    const w = room(2 * 2 * 160)
    call.packQ4!(putRows(codes, n), putRows(new Float32Array(n * 2).fill(1), n), false, w, 0, 2, 2)
    const prepared = room(2 * activationBlock)
    call.quantize!(put(x), k * 4, prepared, 0, 1, 2)
    const y = room(n * 4)
    multiplyQ4(on, kind, w, prepared, y, n, k, 1)
    const values = Float64Array.from({ length: n * k }, (_, i) => ((codes[i >> 3]! >>> ((i & 7) * 4)) & 15) - 7)
    expect([...read(y, n)]).toEqual([...product(values, x, n, k, 0).exact])
  })

  it.each([Number.NaN, Number.POSITIVE_INFINITY])(
    'let %d among the activations through, in whatever place',
    async (odd) => {
      const on = await bench(variant)
      const { call, room, put, floats: read, activationBlock } = on
      const [n, k] = [8, 64]
      const w = room(2 * 160)
      const { codes, scales } = matrixQ4(n, k, 1)
      call.packQ4!(put(codes), put(scales), false, w, 0, 1, 2)
      const [prepared, y] = [room(2 * activationBlock), room(n * 4)]
      for (let place = 0; place < k; place++) {
        const x = floats(k, 2)
        x[place] = odd
        call.quantize!(put(x), k * 4, prepared, 0, 1, 2)
        multiplyQ4(on, kind, w, prepared, y, n, k, 1)
        for (const value of read(y, n)) expect(Number.isFinite(value)).toBe(false)
      }
      const gates = put(Float32Array.of(1, Number.NaN, -2, 3, 1, 1, 1, 1))
      call.gateMul!(gateCode('silu'), gates, y, 16, 0, 1, 4)
      expect([...read(y, 4)].map(Number.isFinite)).toEqual([true, false, true, true])
    },
  )

  it('give the same sums for one token and for several', async () => {
    const on = await bench(variant)
    const { call, room, put, putRows, floats: read, activationBlock } = on
    const [n, k, tokens, blocks] = [37, 160, 4, 5]
    const { codes, scales } = matrixQ4(n, k, 1)
    const w = room(5 * blocks * 160)
    call.packQ4!(putRows(codes, n), putRows(scales, n), false, w, 0, Math.ceil(n / 8), blocks)
    const prepared = room(tokens * blocks * activationBlock)
    call.quantize!(put(floats(tokens * k, 2)), k * 4, prepared, 0, tokens, blocks)
    const together = room(tokens * n * 4)
    const alone = room(n * 4)
    multiplyQ4(on, kind, w, prepared, together, n, k, tokens)
    for (let t = 0; t < tokens; t++) {
      multiplyQ4(on, kind, w, prepared + t * blocks * activationBlock, alone, n, k, 1)
      expect(read(together + t * n * 4, n)).toEqual(read(alone, n))
    }
  })

  it('come back unchanged as rows, also from f16 scales', async () => {
    const { call, room, putRows, floats: read } = await bench(variant)
    const [n, k] = [10, 96]
    const { codes, scales } = matrixQ4(n, k, 9)
    const halves = Uint16Array.from(scales, toHalf)
    const w = room(2 * 3 * 160)
    call.packQ4!(putRows(codes, n), putRows(halves, n), true, w, 0, 2, 3)
    const out = room(k * 4)
    for (let row = 0; row < n; row++) {
      call.rowQ4!(w, row, out, 3)
      const values = Array.from({ length: k }, (_, i) => {
        const at = row * k + i
        return Math.fround((((codes[at >> 3]! >>> ((at & 7) * 4)) & 15) - 7) * fromHalf(halves[at >> 5]!))
      })
      expect([...read(out, k)].map((v) => v + 0)).toEqual(values.map((v) => v + 0))
    }
  })
})

describe.each(variants)('dense matrices (%s)', (variant) => {
  it.each<['f32' | 'f16' | 'bf16', number, number, number]>([
    ['f32', 5, 7, 1],
    ['f32', 24, 48, 5],
    ['f32', 9, 129, 4],
    ['f16', 5, 7, 1],
    ['f16', 24, 48, 5],
    ['f16', 9, 129, 4],
    ['f16', 75, 33, 1],
    ['f16', 43, 65, 22],
    ['bf16', 5, 7, 1],
    ['bf16', 9, 129, 6],
    ['bf16', 75, 33, 3],
    ['bf16', 21, 129, 16],
  ])('multiply %s %i x %i with %i tokens, bias and addition', async (type, n, k, tokens) => {
    const { call, room, put, putRows, argumentsOf, floats: read } = await bench(variant)
    const source = floats(n * k, n + k)
    const bits = type === 'f16' ? Uint16Array.from(source, toHalf) : Uint16Array.from(source, toBrain)
    const values = { f32: source, f16: Float64Array.from(bits, fromHalf), bf16: Float64Array.from(bits, fromBrain) }[
      type
    ]
    const size = type === 'f32' ? 4 : 2
    const x = floats(tokens * k, 3, 5)
    const bias = floats(n, 4)
    const before = floats(tokens * n, 6)
    const groups = Math.ceil(n / 8)
    const w = room(groups * 8 * k * size)
    call.packDense!(putRows(size === 2 ? bits : source, n), size, w, 0, groups, k)
    const xs = put(x)
    const prepared = type === 'f16' ? room(tokens * k * 4) : xs
    if (type === 'f16') call.scaleUp!(xs, k * 4, prepared, 0, tokens, k)
    const y = put(before)
    const args = argumentsOf('matmul', {
      ...PLAIN,
      ...{ kind: KIND[type]!, matrix: w, x: prepared, xStride: k * 4, y, yStride: n * 4 },
      ...{
        rows: n,
        columns: k,
        tokens,
        add: true,
        bias: put(bias),
        unpacked: room(unpackingRoom(KIND[type]!, k, tokens)),
      },
    })
    call.matmul!(args, 0, groups, 0)
    for (let t = 0; t < tokens; t++) {
      const { exact, magnitude } = product(values, x, n, k, t)
      const expected = exact.map((value, i) => value + bias[i]! + before[t * n + i]!)
      expectWithin(read(y + t * n * 4, n), expected, (i) => (magnitude[i]! + 3) * sumBound(k))
    }
    const row = room(k * 4)
    call[`row${type.toUpperCase()}`]!(w, n - 1, row, k)
    expect([...read(row, k)]).toEqual([...values.slice((n - 1) * k)])
  })

  // Groups side by side, two tokens and more, four, and so many that weights are widened for all of them.
  it.each(['f32', 'f16', 'bf16'] as const)('give a token the same sums alone and beside others: %s', async (type) => {
    const { call, room, put, putRows, argumentsOf, floats: read } = await bench(variant)
    const [n, k, most] = [83, 70, 23]
    const source = floats(n * k, 1)
    const size = type === 'f32' ? 4 : 2
    const bits = type === 'f16' ? Uint16Array.from(source, toHalf) : Uint16Array.from(source, toBrain)
    const groups = Math.ceil(n / 8)
    const w = room(groups * 8 * k * size)
    call.packDense!(putRows(size === 2 ? bits : source, n), size, w, 0, groups, k)
    const xs = put(floats(most * k, 2))
    const x = type === 'f16' ? room(most * k * 4) : xs
    if (type === 'f16') call.scaleUp!(xs, k * 4, x, 0, most, k)
    const y = room(most * n * 4)
    const products = (from: number, tokens: number) => {
      const unpacked = room(unpackingRoom(KIND[type]!, k, tokens))
      const behind = put(Float32Array.of(1, 2, 3, 4))
      const at = { matrix: w, x: x + from * k * 4, xStride: k * 4, y, yStride: n * 4, unpacked }
      call.matmul!(
        argumentsOf('matmul', { ...PLAIN, ...at, kind: KIND[type]!, rows: n, columns: k, tokens, add: false }),
        ...[0, groups, 0],
      )
      expect([...read(behind, 4)]).toEqual([1, 2, 3, 4])
      return Array.from({ length: tokens }, (_, t) => read(y + t * n * 4, n))
    }
    const alone = Array.from({ length: most }, (_, t) => products(t, 1)[0])
    for (const tokens of [2, 3, 4, 7, 15, 16, 17, 20, 23]) {
      expect(products(0, tokens), `${tokens} tokens`).toEqual(alone.slice(0, tokens))
    }
  })
})

describe.each(variants)('f16 (%s)', (variant) => {
  it('comes back unchanged, and takes the nearest of two neighbours', async () => {
    const { call } = await bench(variant)
    const [widen, narrow] = [call.f16ToF32, call.f32ToF16] as unknown as ((value: number) => number)[]
    for (let half = 0; half < 0x7c00; half++) {
      const value = widen!(half)
      expect(value).toBe(fromHalf(half))
      expect(narrow!(value)).toBe(half)
      expect(narrow!(-value)).toBe(half | 0x8000)
      const next = fromHalf(Math.min(half + 1, 0x7bff))
      expect(narrow!(value + (next - value) * 0.49)).toBe(half)
      expect(narrow!(value + (next - value) * 0.51)).toBe(Math.min(half + 1, 0x7bff))
    }
    expect(narrow!(1e9)).toBe(0x7bff)
  })
})
