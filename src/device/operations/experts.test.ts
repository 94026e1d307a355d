import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FULL } from '../../../test/support/full.js'
import type { Device } from '../contract.js'
import { combineExperts } from './combine-experts/index.js'
import { KERNEL_DEVICES, shared } from './devices.test-helper.js'
import { embed } from './embed/index.js'
import { expertMatmul } from './expert-matmul/index.js'
import { gate as gateRows } from './gate/index.js'
import { Chance, type Format, knownMatrix } from './numbers.test-helper.js'
import { type TopKExpertsOptions, topKExperts } from './top-k-experts/index.js'

const [EXPERTS, CHOSEN, SIZE, COLUMNS] = [7, 3, 96, 256]
/** Of the largest pass. */
const ROOM = 40

interface Plan extends Omit<TopKExpertsOptions, 'rows' | 'bias' | 'factors'> {
  readonly bias?: Float32Array
  readonly factors?: Float32Array
}

/** The experts of a row and their weights, and that of what all rows share, from the definition. */
function chosenOf(scores: readonly number[], { scores: kind, normed, scale = 1, bias, factors, shared }: Plan) {
  const sigmoid = (x: number) => 1 / (1 + Math.exp(-x))
  const own = scores.slice(0, EXPERTS)
  const sum = own.reduce((all, score) => all + Math.exp(score), 0)
  const shares = own.map((score) => (kind === 'sigmoid' ? sigmoid(score) : Math.exp(score) / sum))
  const keys = bias ? (kind === 'sigmoid' ? shares : own).map((share, e) => share + bias[e]!) : own
  const best = [...keys.keys()].sort((a, b) => keys[b]! - keys[a]! || a - b).slice(0, CHOSEN)
  const all = normed ? best.reduce((sum, e) => sum + shares[e]!, 0) : 1
  const weights = best.map((e) => [e, ((shares[e]! * scale) / all) * (factors?.[e] ?? 1)] as const)
  return { weights, ofShared: shared ? sigmoid(scores[EXPERTS]!) : 1 }
}

function numbersOf(format: Format, rows: number) {
  const chance = new Chance(rows + 31)
  const x = chance.floats(rows * COLUMNS)
  const into = knownMatrix(chance, format, EXPERTS * 2 * SIZE, COLUMNS, 0.06)
  const bias = chance.floats(EXPERTS * 2 * SIZE)
  const outOf = knownMatrix(chance, format === 'q6_k' ? 'q8_0' : format, EXPERTS * COLUMNS, SIZE, 0.1)
  return { x, into, bias, outOf }
}

const known = new Map<string, readonly number[]>()

/** What the definition says of them: once for all devices. */
function expectedOf(...of: Parameters<typeof defined>): readonly number[] {
  const key = JSON.stringify(of)
  const expected = known.get(key) ?? defined(...of)
  known.set(key, expected)
  return expected
}

function defined(format: Format, rows: number, plan: Plan, scores: Float32Array, halves: boolean): number[] {
  const { x, into, bias, outOf } = numbersOf(format, rows)
  return Array.from({ length: rows }, (_, row) => {
    const own = x.subarray(row * COLUMNS, (row + 1) * COLUMNS)
    const { weights, ofShared } = chosenOf([...scores.subarray(row * 8, row * 8 + 8)], plan)
    const out = Float64Array.from(own, (value) => value * ofShared)
    for (const [e, weight] of weights) {
      const product = (i: number) => {
        const half = i < SIZE ? 0 : 1
        const stored = halves ? half * EXPERTS * SIZE + e * SIZE + (i % SIZE) : e * 2 * SIZE + i
        let sum = bias[stored]!
        for (let c = 0, at = stored * COLUMNS; c < COLUMNS; c++) sum += into.values[at++]! * own[c]!
        return sum
      }
      const inner = Array.from({ length: SIZE }, (_, i) => {
        const gate = product(i)
        return (gate / (1 + Math.exp(-gate))) * product(SIZE + i)
      })
      for (let c = 0; c < COLUMNS; c++) {
        let [at, sum] = [(e * COLUMNS + c) * SIZE, 0]
        for (let i = 0; i < SIZE; i++) sum += outOf.values[at++]! * inner[i]!
        out[c]! += weight * sum
      }
    }
    return [...out]
  }).flat()
}

describe.each(KERNEL_DEVICES)('experts on $name', ({ name, open, roundsActivations, cases, turn }) => {
  const cpu = name.startsWith('cpu')
  let device: Device
  beforeAll(async () => {
    device = await open()
  })
  afterAll(() => device.destroy())

  const plain = (rows: number, columns: number, values: Float32Array) =>
    device.matrix({ format: 'f32', rows, columns, data: new Uint8Array(values.buffer) })

  async function outcome(format: Format, rows: number, plan: Plan, scores: Float32Array, halves: boolean) {
    const { x, into, bias, outOf } = numbersOf(format, rows)
    const room = (columns: number, count = ROOM) => device.activations(count, columns)
    const made = {
      ...{ tx: plain(rows, COLUMNS, x), ts: plain(rows, EXPERTS + 1, scores) },
      ...{ x: room(COLUMNS), scores: room(EXPERTS + 1), out: room(COLUMNS), bias: device.vector(bias) },
      ...{ into: device.matrix(into.data, { together: halves ? SIZE : 2 * SIZE }), outOf: device.matrix(outOf.data) },
      routing: device.routing({ rows: ROOM, experts: EXPERTS, chosen: CHOSEN }),
      ...{ both: room(2 * SIZE, ROOM * CHOSEN), inner: room(SIZE, ROOM * CHOSEN), each: room(COLUMNS, ROOM * CHOSEN) },
      ...(plan.bias && { choice: device.vector(plan.bias) }),
      ...(plan.factors && { factors: device.vector(plan.factors) }),
    }
    const tokens = Int32Array.from({ length: rows }, (_, i) => i)
    const pass = device.begin({ spans: [{ tokens, position: 0, pages: new Int32Array(3) }] })
    pass.run(embed, made.tx, made.x)
    // One of seven and one more: no table has so many columns.
    pass.write(made.scores, scores)
    const { bias: _, factors: __, ...how } = plan
    pass.run(topKExperts, made.scores, made.routing, { ...how, bias: made.choice, factors: made.factors })
    pass.run(expertMatmul, made.into, made.x, made.both, made.routing, { from: 'rows', halves, bias: made.bias })
    pass.run(gateRows, made.both, made.both, made.inner, { gate: 'silu', valuesFrom: SIZE, rows: rows * CHOSEN })
    pass.run(expertMatmul, made.outOf, made.inner, made.each, made.routing, { from: 'places' })
    pass.run(combineExperts, made.each, made.out, made.routing, { shared: made.x })
    const read = pass.read(made.out, rows)
    await pass.submit()
    const got = await read
    for (const one of Object.values(made)) one.destroy()
    return { got, expected: expectedOf(format, rows, plan, scores, halves) }
  }

  const chance = new Chance(77)
  const plans: Record<string, Plan> = {
    softmax: { scores: 'softmax' },
    'softmax, normed': { scores: 'softmax', normed: true, scale: 2.5, factors: chance.floats(EXPERTS) },
    'sigmoid, chosen by more': { scores: 'sigmoid', normed: true, bias: chance.floats(EXPERTS), shared: true },
    sigmoid: { scores: 'sigmoid', scale: 0.5, shared: true },
  }
  const formats = ['q4f16', 'q6_k', 'f32', 'q4_0'] as const
  // A GPU in software takes its time for each kernel, which no plan makes another: each plan once, and each kind of format.
  const some =
    cases === 'all' ? (['q4f16', 'f32', 'f32', 'q6_k'] as const) : (['q6_k', 'q4f16', 'f32', 'q4_0'] as const)
  const names = Object.keys(plans)
  const onCpu = names.flatMap((name, i) => formats.map((format) => ({ name, format, halves: i % 2 === 0 })))
  const onGpu = names.map((name, i) => ({ name, format: (FULL ? formats : some)[i]!, halves: i % 2 === 0 }))
  const selected = cpu ? onCpu : cases === 'all' ? onGpu : shared({ turn }, onGpu.slice(1, 3))

  it.each(selected)('$name in $format: what the definition says, however many rows there are', async (of) => {
    for (const rows of cpu ? [1, 2, 9, 37] : [1, 37]) {
      const scores = new Chance(rows).floats(rows * 8, 2)
      const { got, expected } = await outcome(of.format, rows, plans[of.name]!, scores, of.halves)
      const size = Math.sqrt(expected.reduce((sum, value) => sum + value * value, 0) / expected.length)
      const off = expected.map((value, i) => Math.abs(got[i]! - value) / size)
      // Rounded to 8 bits an activation is off by 2^-8 of the greatest of its block at most.
      expect(Math.max(...off)).toBeLessThan(roundsActivations && of.format !== 'f32' ? 0.2 : 2e-4)
    }
  })

  it('of equal scores those with the lowest numbers are chosen', async () => {
    const scores = Float32Array.from({ length: 3 * 8 }, (_, i) => (i % 8 === 5 ? 1 : 0))
    const { got, expected } = await outcome('f32', 3, { scores: 'softmax', normed: true }, scores, true)
    expected.forEach((value, i) => {
      expect(Math.abs(got[i]! - value)).toBeLessThan(1e-3)
    })
  })
})
