/** Products on a device, compared with plain loops. */

import { expect, it } from 'vitest'
import type { Device, MatrixData } from '../contract.js'
import { embed } from './embed/index.js'
import { matmul } from './matmul/index.js'
import { Chance, type Format, knownMatrix } from './numbers.test-helper.js'

const EPSILON = 1e-5

export interface CheckOptions {
  readonly gain?: Float32Array
  readonly bias?: Float32Array
  /** What the product is added to. */
  readonly start?: Float32Array
  readonly gated?: boolean
  /** gpt-oss's, in place of silu. */
  readonly clamped?: boolean
}

/** A product on the device, which is returned, against plain loops; `bound` is relative to the sum of |w x|. */
export async function check(
  device: Device,
  { data, values }: { readonly data: MatrixData; readonly values: Float64Array },
  x: Float32Array,
  tokens: number,
  { gain, bias, start, gated = false, clamped = false }: CheckOptions,
  bound: number,
): Promise<Float32Array> {
  const { rows, columns } = data
  const width = gated ? rows / 2 : rows
  const matrix = device.matrix(data, { gated })
  const input = await filled(device, x, tokens, columns)
  const out = start ? await filled(device, start, tokens, width) : device.activations(tokens, width)
  const weight = gain && device.vector(gain)
  const bias_ = bias && device.vector(bias)
  const pass = device.begin({ spans: [span(tokens)] })
  pass.run(matmul, matrix, input, out, {
    ...(weight ? { norm: { weight, epsilon: EPSILON } } : {}),
    ...(bias_ ? { bias: bias_ } : {}),
    add: start !== undefined,
    gated,
    ...(clamped && { gate: 'clamped' }),
  })
  const reading = pass.read(out, tokens)
  await pass.submit()
  const got = await reading
  for (let t = 0; t < tokens; t++) {
    const row = normed(x.subarray(t * columns, (t + 1) * columns), gain)
    for (let r = 0; r < width; r++) {
      const [sum, size] = dot(values, r, row, bias)
      let expected = sum
      let slack = size * bound + 1e-6
      if (gated) {
        const [value, valueSize] = dot(values, r + width, row, bias)
        expected = clamped ? clampedGate(sum, value) : (sum / (1 + Math.exp(-sum))) * value
        // silu's slope is at most 1.1.
        slack = 1.1 * size * bound * (Math.abs(value) + valueSize * bound) + Math.abs(sum) * valueSize * bound + 1e-5
      }
      if (start) expected += start[t * width + r]!
      const value = got[t * width + r]!
      if (!(Math.abs(value - expected) <= slack)) {
        expect.fail(`row ${t}, column ${r}: ${value}, expected ${expected} within ${slack}`)
      }
    }
  }
  for (const resource of [matrix, input, out, weight, bias_]) resource?.destroy()
  return got
}

/** Products of many tokens within `bound`, on a device that rounds to f16; the formats and columns of two of them. */
export function itMultiplies(
  device: () => Device,
  bound: number,
  normed: readonly [Format, number],
  gated: readonly [Format, number],
): void {
  it.each([
    ['a product', 'q4f16', 129, 1088, 70, 1],
    ['a product of one block', 'q4f32', 70, 32, 17, 1],
    ['activations beyond the range of f16', 'q4f16', 71, 96, 20, 1e6],
    ['activations below it', 'q4f16', 71, 96, 20, 1e-9],
  ] as const)('%s', async (_, format, rows, columns, tokens, scale) => {
    const chance = new Chance(rows + tokens)
    const known = knownMatrix(chance, format, rows, columns, 0.2)
    await check(device(), known, chance.floats(tokens * columns, scale), tokens, {}, bound)
  })

  it('with norm, bias and addition', async () => {
    const chance = new Chance(3)
    const [format, columns] = normed
    const known = knownMatrix(chance, format, 46, columns)
    const options = { gain: chance.floats(columns), bias: chance.floats(46), start: chance.floats(40 * 46) }
    await check(device(), known, chance.floats(40 * columns, 3), 40, options, bound)
  })

  it('gated', async () => {
    const chance = new Chance(4)
    const [format, columns] = gated
    const known = knownMatrix(chance, format, 2 * 37, columns, 0.2)
    await check(device(), known, chance.floats(40 * columns), 40, { gain: chance.floats(columns), gated: true }, bound)
  })
}

/** OpenAI's definition of it. */
function clampedGate(gate: number, value: number): number {
  const [most, within] = [Math.min(gate, 7), Math.max(-7, Math.min(7, value))]
  return (most / (1 + Math.exp(-1.702 * most))) * (within + 1)
}

function normed(x: Float32Array, gain: Float32Array | undefined): Float64Array {
  if (!gain) return Float64Array.from(x)
  const mean = x.reduce((sum, value) => sum + value * value, 0) / x.length
  return Float64Array.from(x, (value, i) => (value / Math.sqrt(mean + EPSILON)) * gain[i]!)
}

/** The product, and the sum of the absolute values of what was added. */
function dot(values: Float64Array, r: number, x: Float64Array, bias?: Float32Array): [number, number] {
  let sum = bias?.[r] ?? 0
  let size = Math.abs(sum)
  for (let k = 0; k < x.length; k++) {
    const product = values[r * x.length + k]! * x[k]!
    sum += product
    size += Math.abs(product)
  }
  return [sum, size]
}

function span(tokens: number) {
  return {
    tokens: new Int32Array(tokens),
    position: 0,
    pages: new Int32Array(Math.ceil(tokens / 16)),
  }
}

/** Activations that hold these values: the rows of an embedding table. */
async function filled(device: Device, values: Float32Array, rows: number, columns: number) {
  const padded = Math.ceil(columns / 8) * 8
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength)
  if (padded !== columns) return filledByPick(device, values, rows, columns)
  const table = device.matrix({ format: 'f32', rows, columns, data: bytes })
  const out = device.activations(rows, columns)
  const pass = device.begin({ spans: [{ ...span(rows), tokens: Int32Array.from({ length: rows }, (_, i) => i) }] })
  pass.run(embed, table, out)
  await pass.submit()
  table.destroy()
  return out
}

/** The same for widths that no table has: a product of the transposed values with unit vectors. */
async function filledByPick(device: Device, values: Float32Array, rows: number, columns: number) {
  const side = Math.ceil(rows / 8) * 8
  const unit = new Float32Array(rows * side)
  for (let i = 0; i < rows; i++) unit[i * side + i] = 1
  const turned = new Float32Array(columns * side)
  for (let r = 0; r < rows; r++) for (let c = 0; c < columns; c++) turned[c * side + r] = values[r * columns + c]!
  const x = await filled(device, unit, rows, side)
  const matrix = device.matrix({ format: 'f32', rows: columns, columns: side, data: new Uint8Array(turned.buffer) })
  const out = device.activations(rows, columns)
  const pass = device.begin({ spans: [span(rows)] })
  pass.run(matmul, matrix, x, out)
  await pass.submit()
  matrix.destroy()
  x.destroy()
  return out
}
