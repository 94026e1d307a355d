import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { gelu, geluTanh, silu } from '../../../test/oracles/float64.js'
import { type Device, NO_STATE, type Vector } from '../contract.js'
import { type AddNormOptions, addNorm } from './add-norm/index.js'
import { KERNEL_DEVICES } from './devices.test-helper.js'
import { embed } from './embed/index.js'
import { gate as gateRows } from './gate/index.js'
import { Chance } from './numbers.test-helper.js'
import { pool } from './pool/index.js'
import { tokenShift } from './token-shift/index.js'
import { xielu } from './xielu/index.js'

const GATES = {
  silu,
  gelu: geluTanh,
  relu: (x: number) => Math.max(0, x),
  relu2: (x: number) => Math.max(0, x) ** 2,
  clamped: (x: number) => Math.min(x, 7) / (1 + Math.exp(-1.702 * Math.min(x, 7))),
  gelu_erf: gelu,
}

describe.each(KERNEL_DEVICES)('rows on $name', ({ open }) => {
  let device: Device
  beforeAll(async () => {
    device = await open()
  })
  afterAll(() => device.destroy())

  const COLUMNS = 72
  const chance = new Chance(5)
  // Far from zero, so that a mean that is not taken away in time costs all digits.
  const values = chance.floats(9 * COLUMNS).map((value, i) => 3 * value + (i < 3 * COLUMNS ? 1000 : 0))

  async function added(options: (vector: (values: Float32Array) => Vector) => AddNormOptions): Promise<Float32Array> {
    const made: { destroy(): void }[] = []
    const keep = <T extends { destroy(): void }>(one: T): T => {
      made.push(one)
      return one
    }
    const data = new Uint8Array(values.buffer)
    const table = keep(device.matrix({ format: 'f32', rows: 9, columns: COLUMNS, data }))
    const x = keep(device.activations(9, COLUMNS))
    const pass = device.begin({
      spans: [{ tokens: Int32Array.from({ length: 9 }, (_, i) => i), position: 0, pages: new Int32Array(1) }],
    })
    pass.run(embed, table, x)
    pass.run(
      addNorm,
      x,
      x,
      options((floats) => keep(device.vector(floats))),
    )
    const read = pass.read(x, 9)
    await pass.submit()
    for (const one of made) one.destroy()
    return read
  }

  it('a norm takes the mean away first, and adds a bias', async () => {
    const weight = chance.floats(COLUMNS)
    const bias = chance.floats(COLUMNS)
    const got = await added((vector) => ({
      norm: { weight: vector(weight), bias: vector(bias), epsilon: 1e-12, centred: true },
    }))
    for (let row = 0; row < 9; row++) {
      const own = [...values.subarray(row * COLUMNS, (row + 1) * COLUMNS)]
      const mean = own.reduce((a, b) => a + b) / COLUMNS
      const deviation = Math.sqrt(own.reduce((sum, value) => sum + (value - mean) ** 2, 0) / COLUMNS + 1e-12)
      // A value of 1000 is known to 2^-15 of a deviation.
      const bound = row < 3 ? 2e-4 : 5e-6
      own.forEach((value, i) => {
        expect(Math.abs(got[row * COLUMNS + i]! - (((value - mean) / deviation) * weight[i]! + bias[i]!))).toBeLessThan(
          bound,
        )
      })
    }
  })

  it('parts of a row are normed by themselves, and what is then there is multiplied', async () => {
    const [every, from] = [12, 24]
    const weight = chance.floats(every)
    const table = device.matrix({ format: 'f32', rows: 9, columns: COLUMNS, data: new Uint8Array(values.buffer) })
    const [x, out] = [device.activations(9, COLUMNS), device.activations(9, COLUMNS)]
    const [gains, total] = [device.vector(weight), device.vector(Float32Array.of(0.75))]
    const tokens = Int32Array.from({ length: 9 }, (_, i) => i)
    const pass = device.begin({ spans: [{ tokens, position: 0, pages: new Int32Array(1) }] })
    pass.run(embed, table, x)
    pass.run(embed, table, out)
    const norm = { weight: gains, epsilon: 1e-6 }
    pass.run(addNorm, x, out, { from, columns: COLUMNS - from, every, norm, scale: 3, add: true, total })
    const read = pass.read(out, 9)
    await pass.submit()
    const got = await read
    for (const one of [table, x, out, gains, total]) one.destroy()
    for (let at = 0; at < 9 * COLUMNS; at++) {
      const column = at % COLUMNS
      const begin = at - ((column - from) % every)
      const part = values.subarray(begin, begin + every)
      const factor = 3 / Math.sqrt(part.reduce((sum, value) => sum + value ** 2, 0) / every + 1e-6)
      const all = 0.75 * (values[at]! + values[at]! * factor * weight[at - begin]!)
      const expected = column < from ? values[at]! : all
      expect(Math.abs(got[at]! - expected)).toBeLessThan(2e-6 * Math.max(1, Math.abs(expected)))
    }
  })

  it('what the host writes is there before what is recorded, pass by pass', async () => {
    const [x, out] = [device.activations(3, 8), device.activations(3, 8)]
    const given = [chance.floats(24), chance.floats(16)]
    const reads = []
    for (const floats of given) {
      const tokens = new Int32Array(floats.length / 8)
      const pass = device.begin({ spans: [{ tokens, position: 0, pages: new Int32Array(1) }] })
      pass.run(addNorm, x, out, { scale: 2 })
      const whole = floats.slice()
      pass.write(x, floats)
      floats.fill(0)
      reads.push(pass.read(out, tokens.length).then((got) => ({ got, whole })))
      void pass.submit()
    }
    await device.idle()
    for (const { got, whole } of await Promise.all(reads)) expect(got).toEqual(whole.map((value) => 2 * value))
    const pass = device.begin({ spans: [{ tokens: new Int32Array(1), position: 0, pages: new Int32Array(1) }] })
    expect(() => pass.write(x, new Float32Array(32))).toThrow(RangeError)
    expect(() => pass.write(x, new Float32Array(12))).toThrow(RangeError)
    await pass.submit()
    x.destroy()
    out.destroy()
  })

  it.each(['silu', 'gelu', 'gelu_erf', 'relu', 'relu2', 'clamped'] as const)('values go through %s', async (gate) => {
    const got = await added(() => ({ gate }))
    values.forEach((value, i) => {
      const expected = GATES[gate](value)
      expect(Math.abs(got[i]! - expected)).toBeLessThan(2e-6 * Math.max(1, Math.abs(expected)))
    })
  })

  it('values go through a curve that was learned', async () => {
    const [p, n, beta, epsilon] = [0.3, 3, 0.5, -1e-6]
    const table = device.matrix({ format: 'f32', rows: 9, columns: COLUMNS, data: new Uint8Array(values.buffer) })
    const [x, curve] = [device.activations(9, COLUMNS), device.vector(Float32Array.of(p, n, beta, epsilon))]
    const tokens = Int32Array.from({ length: 9 }, (_, i) => i)
    const pass = device.begin({ spans: [{ tokens, position: 0, pages: new Int32Array(1) }] })
    pass.run(embed, table, x)
    pass.run(xielu, x, curve, { rows: 8 })
    const read = pass.read(x, 9)
    await pass.submit()
    const got = await read
    for (const one of [table, x, curve]) one.destroy()
    values.forEach((value, i) => {
      const below = (beta + Math.log1p(Math.exp(n))) * (Math.expm1(Math.min(value, epsilon)) - value)
      const bent = (value > 0 ? Math.log1p(Math.exp(p)) * value ** 2 : below) + beta * value
      // The last row was not asked for.
      const expected = i < 8 * COLUMNS ? bent : value
      expect(Math.abs(got[i]! - expected)).toBeLessThan(4e-6 * Math.max(1, Math.abs(expected)))
    })
  })

  it('what a clamped gate opens lies within bounds, and gets one more', async () => {
    const data = new Uint8Array(values.buffer)
    const table = device.matrix({ format: 'f32', rows: 9, columns: COLUMNS, data })
    const [x, out] = [device.activations(9, COLUMNS), device.activations(9, COLUMNS / 2)]
    const tokens = Int32Array.from({ length: 9 }, (_, i) => i)
    const pass = device.begin({ spans: [{ tokens, position: 0, pages: new Int32Array(1) }] })
    pass.run(embed, table, x)
    pass.run(gateRows, x, x, out, { gate: 'clamped', valuesFrom: COLUMNS / 2 })
    const read = pass.read(out, 9)
    await pass.submit()
    const got = await read
    for (const one of [table, x, out]) one.destroy()
    got.forEach((value, i) => {
      const at = Math.floor(i / (COLUMNS / 2)) * COLUMNS + (i % (COLUMNS / 2))
      const expected = GATES.clamped(values[at]!) * (Math.max(-7, Math.min(7, values[at + COLUMNS / 2]!)) + 1)
      expect(Math.abs(value - expected)).toBeLessThan(4e-6 * Math.max(1, Math.abs(expected)))
    })
  })

  it('rows of a table by places, and the mean of the rows of each span', async () => {
    const data = new Uint8Array(values.buffer)
    const table = device.matrix({ format: 'f32', rows: 9, columns: COLUMNS, data })
    const x = device.activations(8, COLUMNS)
    const out = device.activations(3, COLUMNS)
    const pages = new Int32Array(1)
    const spans = [
      { tokens: Int32Array.of(1, 2), position: 0, pages },
      { tokens: Int32Array.of(0, 0, 0, 0), position: 0, pages, places: Int32Array.of(8, 3, 3, 0) },
      { tokens: Int32Array.of(5), position: 4, pages },
    ]
    const pass = device.begin({ spans })
    pass.run(embed, table, x, 'places')
    pass.run(pool, x, out)
    const read = pass.read(out, 3)
    await pass.submit()
    const got = await read
    const means = [[0, 1], [8, 3, 3, 0], [4]].map((rows) =>
      Array.from(
        { length: COLUMNS },
        (_, i) => rows.reduce((sum, row) => sum + values[row * COLUMNS + i]!, 0) / rows.length,
      ),
    )
    means.flat().forEach((value, i) => {
      expect(Math.abs(got[i]! - value)).toBeLessThan(2e-4)
    })
    for (const one of [table, x, out]) one.destroy()
  })

  it('each row is given the one before it, over passes, and where a slot is written that is read', async () => {
    const data = new Uint8Array(values.buffer)
    const table = device.matrix({ format: 'f32', rows: 9, columns: COLUMNS, data })
    const [x, out] = [device.activations(9, COLUMNS), device.activations(9, COLUMNS)]
    const states = device.states({ slots: 3, sizes: [8, COLUMNS] })
    const pages = new Int32Array(1)
    const rowOf = (row: number) =>
      row < 0 ? new Float32Array(COLUMNS) : values.subarray(row * COLUMNS, (row + 1) * COLUMNS)
    const shifted = async (spans: readonly [tokens: number[], from: number, to: number][], keeps?: boolean) => {
      const pass = device.begin({
        spans: spans.map(([tokens, from, to]) => {
          return { tokens: Int32Array.from(tokens), position: 0, pages, state: { from, to } }
        }),
      })
      pass.run(embed, table, x)
      pass.run(tokenShift, x, states, 1, out, ...(keeps === undefined ? [] : [{ keeps }]))
      const read = pass.read(out, pass.rows)
      await pass.submit()
      return read
    }
    const all = (...rows: number[]) => Float32Array.from(rows.flatMap((row) => [...rowOf(row)]))
    expect(
      await shifted([
        [[3, 4], NO_STATE, 2],
        [[5], NO_STATE, 0],
      ]),
    ).toEqual(all(-1, 3, -1))
    // What a pass does not keep the next one does not find.
    expect(
      await shifted(
        [
          [[8], 2, 2],
          [[8], 0, 1],
        ],
        false,
      ),
    ).toEqual(all(4, 5))
    expect(
      await shifted([
        [[1, 2, 7], 2, 2],
        [[6], 0, 1],
      ]),
    ).toEqual(all(4, 1, 2, 5))
    expect(
      await shifted([
        [[0], 1, 1],
        [[0], 2, 0],
      ]),
    ).toEqual(all(6, 7))
    for (const one of [table, x, out, states]) one.destroy()
  })
})
