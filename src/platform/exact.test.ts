import fc from 'fast-check'
import { expect, test } from 'vitest'
import { exp, log } from './exact.js'

/** Fixed point: what the functions are by their definition, to far more bits than a number has. */
const BITS = 1400n
const ONE = 1n << BITS

function fixed(x: number): bigint {
  // Every finite number is a whole one over 2^1074.
  const [whole, power] = wholeOf(x)
  return power >= 0 ? (whole << BITS) << BigInt(power) : (whole << BITS) >> BigInt(-power)
}

/** x as whole * 2^power. */
function wholeOf(x: number): readonly [bigint, number] {
  const view = new DataView(new ArrayBuffer(8))
  view.setFloat64(0, x)
  const raw = view.getBigUint64(0)
  const exponent = Number((raw >> 52n) & 2047n)
  const fraction = raw & ((1n << 52n) - 1n)
  const whole = exponent === 0 ? fraction : fraction | (1n << 52n)
  return [raw >> 63n ? -whole : whole, Math.max(1, exponent) - 1075]
}

/** By its series, of a thousandth of the argument, and squared ten times. */
function trueExp(x: number): bigint {
  const small = fixed(x) >> 10n
  let [sum, term] = [ONE, ONE]
  for (let n = 1n; term !== 0n && n < 400n; n++) {
    term = (term * small) / ONE / n
    sum += term
  }
  for (let i = 0; i < 10; i++) sum = (sum * sum) / ONE
  return sum
}

/** How many of the last place of `value` it is beside the truth. */
function beside(value: number, truth: bigint): number {
  const [, power] = wholeOf(value)
  const last = power >= 0 ? ONE << BigInt(power) : ONE >> BigInt(-power)
  const off = fixed(value) - truth
  return Number(((off < 0n ? -off : off) * 1000n) / last) / 1000
}

test('e to the power of x is beside its definition by less than a last place, wherever x lies', () => {
  const xs = fc.oneof(...[1, 40, 700].map((most) => fc.double({ min: -most, max: most, noNaN: true })))
  fc.assert(
    fc.property(xs, (x) => {
      expect(beside(exp(x), trueExp(x))).toBeLessThan(1)
    }),
    { numRuns: 400, seed: 1 },
  )
})

test('the logarithm is that to whose power e is x', () => {
  const xs = fc.oneof(
    fc.double({ min: 1e-9, max: 4, noNaN: true }),
    fc.double({ min: 1e-300, max: 1e300, noNaN: true }),
  )
  fc.assert(
    fc.property(xs, (x) => {
      const result = log(x)
      // Where the logarithm is large, so is what its last place is worth.
      const worth = Math.max(1, Math.abs(result)) * 4 * Number.EPSILON
      const off = Number(((fixed(x) - trueExp(result)) * 2n ** 60n) / fixed(x)) / 2 ** 60
      expect(Math.abs(off)).toBeLessThan(worth)
    }),
    { numRuns: 400, seed: 1 },
  )
})

test('near one, too, where nearly nothing is left of it', () => {
  for (const k of [1, 2, 3, 10, 1000]) {
    const x = 1 + k * Number.EPSILON
    // The series of log(1 + d), of which the rest is less than a last place.
    const d = k * Number.EPSILON
    expect(Math.abs(log(x) / (d - (d * d) / 2) - 1)).toBeLessThan(4 * Number.EPSILON)
  }
})

test('what lies at the ends', () => {
  expect([exp(0), exp(-0), exp(Number.NEGATIVE_INFINITY), exp(-746), exp(Number.NaN)]).toEqual([1, 1, 0, 0, Number.NaN])
  expect([exp(Number.POSITIVE_INFINITY), exp(710)]).toEqual([Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY])
  expect([exp(-745), exp(709.7) < Number.POSITIVE_INFINITY]).toEqual([Number.MIN_VALUE, true])
  expect([log(1), log(2), log(Number.POSITIVE_INFINITY)]).toEqual([0, Math.LN2, Number.POSITIVE_INFINITY])
  expect([log(0), log(-0), log(-1), log(Number.NaN)]).toEqual([-Infinity, -Infinity, Number.NaN, Number.NaN])
  expect(log(Number.MIN_VALUE)).toBeCloseTo(-1074 * Math.LN2, 10)
})
