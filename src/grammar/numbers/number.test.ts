import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../../test/support/full.js'
import { walk } from '../automata/walk.test-helper.js'
import { acceptsText } from '../automata/words.js'
import { Fuel } from '../fuel.js'
import { type NumberSpec, numberAutomaton } from './number.js'

const bound = fc.oneof(
  fc.constantFrom(
    ...[0, 1, -1, 5, 10, -10, 0.1, -0.1, 1e-6, 1e-7, 1e20, 1e21, -1e21, 2 ** 53, 2 ** 63, Number.MAX_VALUE],
  ),
  fc.integer({ min: -1000, max: 1000 }),
  fc.integer({ min: -100_000, max: 100_000 }).map((n) => n / 100),
  fc.maxSafeInteger(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
)
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 2 })
const bounds = fc.record({
  integer: fc.boolean(),
  minimum: maybe(bound),
  exclusiveMinimum: maybe(bound),
  maximum: maybe(bound),
  exclusiveMaximum: maybe(bound),
})
const multiple = fc.constantFrom(1, 2, 3, 5, 7, 10, 12, 100, 256, 0.5, 0.1, 0.01, 0.25, 2.5, 0.001)

function satisfies(value: number, spec: NumberSpec): boolean {
  return (
    (spec.integer !== true || Number.isInteger(value)) &&
    (spec.minimum === undefined || value >= spec.minimum) &&
    (spec.maximum === undefined || value <= spec.maximum) &&
    (spec.exclusiveMinimum === undefined || value > spec.exclusiveMinimum) &&
    (spec.exclusiveMaximum === undefined || value < spec.exclusiveMaximum)
  )
}

function neighbour(value: number, steps: bigint): number {
  const bits = new DataView(new ArrayBuffer(8))
  bits.setFloat64(0, value)
  bits.setBigInt64(0, bits.getBigInt64(0) + steps)
  const moved = bits.getFloat64(0)
  return Number.isFinite(moved) ? moved : value
}

/** Thousandths, exactly: what a decimal of at most three places is a multiple of. */
function thousandths(text: string): bigint {
  const [whole, fraction = ''] = text.split('.')
  return BigInt(whole! + fraction.padEnd(3, '0'))
}

describe('number automata', () => {
  it('accept what JSON.stringify writes exactly where arithmetic does', () => {
    fc.assert(
      fc.property(bounds, fc.array(bound, { maxLength: 10 }), (spec, values) => {
        const automaton = numberAutomaton(spec)
        const edges = [spec.minimum, spec.exclusiveMinimum, spec.maximum, spec.exclusiveMaximum].filter(
          (v) => v !== undefined,
        )
        const near = edges.flatMap((v) => [v, neighbour(v, 1n), neighbour(v, -1n), -v, Math.round(v), v + 1, v - 1])
        for (const value of [...values, ...near, 0]) {
          if (value !== 0 && Math.abs(value) < 1e-323) continue
          const text = JSON.stringify(value)
          expect([spec, text, acceptsText(automaton, text)]).toEqual([spec, text, satisfies(value, spec)])
        }
      }),
      { numRuns: runs(2500) },
    )
  })

  it('produce only JSON numbers that satisfy the bounds once parsed as doubles', () => {
    fc.assert(
      fc.property(bounds, fc.array(fc.nat(20), { maxLength: 40 }), (spec, choices) => {
        const automaton = numberAutomaton(spec)
        if (automaton.empty) return
        const text = walk(automaton, choices)
        expect(text.length).toBeLessThanOrEqual(30)
        expect([spec, text, satisfies(JSON.parse(text), spec)]).toEqual([spec, text, true])
      }),
      { numRuns: runs(4000) },
    )
  })

  it('know multiples as decimals, not as quotients of doubles', () => {
    fc.assert(
      fc.property(
        multiple,
        fc.boolean(),
        fc.integer({ min: -10_000_000, max: 10_000_000 }),
        fc.nat(3),
        (step, integer, n, places) => {
          const text = (n / 10 ** places)
            .toFixed(places)
            .replace(/(\.\d*?)0+$/, '$1')
            .replace(/\.$/, '')
          if (text.startsWith('-0') && !/[1-9]/.test(text)) return
          const whole = !text.includes('.')
          const expected = thousandths(text) % BigInt(Math.round(step * 1000)) === 0n && (whole || !integer)
          expect([step, integer, text, acceptsText(numberAutomaton({ multipleOf: step, integer }), text)]).toEqual([
            step,
            integer,
            text,
            expected,
          ])
        },
      ),
      { numRuns: runs(3000) },
    )
  })

  it('produce only multiples', () => {
    fc.assert(
      fc.property(multiple, bounds, fc.array(fc.nat(20), { maxLength: 25 }), (step, spec, choices) => {
        const automaton = numberAutomaton({ ...spec, multipleOf: step }, new Fuel(2_000_000))
        if (automaton.empty) return
        const text = walk(automaton, choices)
        expect(satisfies(JSON.parse(text), spec)).toBe(true)
        if (!text.includes('e')) expect(thousandths(text) % BigInt(Math.round(step * 1000))).toBe(0n)
      }),
      { numRuns: runs(2000) },
    )
  })

  it.each([
    ['0', {}, true],
    ['-0', {}, false],
    ['-0.0', {}, false],
    ['01', {}, false],
    ['1.', {}, false],
    ['.5', {}, false],
    ['+1', {}, false],
    ['1e5', {}, false],
    ['1e+21', {}, true],
    ['1e+21', { integer: true }, true],
    ['2.50', {}, true],
    ['1.0', { integer: true }, false],
    ['1e-7', {}, true],
    ['1e+309', {}, false],
    ['1.7976931348623157e+308', {}, true],
    ['10', { minimum: 5 }, true],
    ['4', { minimum: 5 }, false],
    ['0.10000000000000001', { exclusiveMinimum: 0.1 }, false],
    ['0.3', { multipleOf: 0.1 }, true],
    ['0.07', { multipleOf: 0.01 }, true],
    ['0.075', { multipleOf: 0.01 }, false],
    ['12391239123', { integer: true, multipleOf: 1e-8 }, true],
    ['0.00751', { multipleOf: 0.0001 }, false],
    ['9007199254740993', { maximum: 9007199254740991 }, false],
  ] as const)('%s under %j: %s', (text, spec, expected) => {
    expect(acceptsText(numberAutomaton(spec), text)).toBe(expected)
  })

  it('are empty where nothing satisfies', () => {
    expect(numberAutomaton({ minimum: 2, maximum: 1 }).empty).toBe(true)
    expect(numberAutomaton({ integer: true, minimum: 0.1, maximum: 0.9 }).empty).toBe(true)
    expect(numberAutomaton({ exclusiveMinimum: 1, exclusiveMaximum: neighbour(1, 1n) }).empty).toBe(true)
    expect(numberAutomaton({ integer: true, multipleOf: 7, minimum: 8, maximum: 13 }).empty).toBe(true)
  })

  it.each([{ multipleOf: 40.93 }, { multipleOf: 4093, integer: true }, { multipleOf: 1000 }])(
    'cost no state for each digit of a large multiple: %j',
    (spec) => {
      const automaton = numberAutomaton(spec, new Fuel(50_000))
      const step = spec.multipleOf
      for (const n of [0, 1, 7, 24_432, 1e6]) {
        for (const sign of n === 0 ? [1] : [1, -1]) {
          const text = String(Math.round(n * step * 100 * sign) / 100)
          expect([text, acceptsText(automaton, text)]).toEqual([text, true])
        }
        const beside = String(Math.round((n * step + 1) * 100) / 100)
        expect([beside, acceptsText(automaton, beside)]).toEqual([beside, false])
      }
    },
  )
})
