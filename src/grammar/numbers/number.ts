import { atOnce, getOrMake, LruMap, type Slices } from '../../platform/index.js'

/**
 * JSON numbers as automata over their text: exactly those that satisfy the bounds, written as `JSON.stringify` writes
 * them, but for trailing zeros after the point. Values are compared as decimals of known length, never digit by digit.
 */

import { partition } from '../automata/classes.js'
import { withLength } from '../automata/lengths.js'
import { minimiseInSlices } from '../automata/minimise.js'
import { NO_TEXT } from '../automata/sets.js'
import type { TextAutomaton } from '../automata/types.js'
import { Fuel } from '../fuel.js'
import { beyond, compareDecimals, type Decimal, decimalOf, negated, rounded, TINY } from './decimal.js'
import { Magnitudes } from './magnitudes.js'
import { type Multiples, multiplesOf } from './multiples.js'
import { type NumberPlace, SIGNIFICANT_MULTIPLES } from './place.js'

export interface NumberSpec {
  /** Only integers, written without a point. */
  readonly integer?: boolean
  readonly minimum?: number
  readonly exclusiveMinimum?: number
  readonly maximum?: number
  readonly exclusiveMaximum?: number
  readonly multipleOf?: number
}

/** Steps for all that may follow one place. */
const PLACE_COST = 5
const SYMBOLS = '0123456789-.e+'
let letters: ReturnType<typeof partition> | undefined
const LARGEST = decimalOf(Number.MAX_VALUE)

const CACHED = 128
/** With what each cost to make: finding it costs as much, so that fuel does not depend on what came before. */
const cache = new LruMap<string, { made: TextAutomaton; cost: number }>(CACHED)
const CACHED_STATES = 512
/** By whether they are integers. */
const unbounded = new Map<boolean, TextAutomaton>()

/** The texts of the numbers that satisfy `spec`. */
export function numberAutomaton(spec: NumberSpec, fuel = new Fuel()): TextAutomaton {
  return atOnce(numberAutomatonInSlices(spec, fuel))
}

/** With a pause every few milliseconds. */
export function* numberAutomatonInSlices(spec: NumberSpec, fuel: Fuel): Slices<TextAutomaton> {
  const { integer, minimum, exclusiveMinimum, maximum, exclusiveMaximum, multipleOf } = spec
  const bounds = [minimum, exclusiveMinimum, maximum, exclusiveMaximum, multipleOf]
  // Nearly every schema has them: made once in a process, and nobody pays.
  if (bounds.every((bound) => bound === undefined))
    return getOrMake(unbounded, integer === true, () => atOnce(build(spec, new Fuel())))
  const key = [integer === true, ...bounds].join()
  const known = cache.get(key)
  if (known !== undefined) {
    fuel.spend(known.cost)
    return known.made
  }
  const before = fuel.left
  const numbers = yield* build(spec, fuel)
  if (numbers.states <= CACHED_STATES) {
    cache.set(key, { made: numbers, cost: before - fuel.left })
  }
  return numbers
}

function* build(spec: NumberSpec, fuel: Fuel): Slices<TextAutomaton> {
  const step = multiplesOf(spec.integer === true, spec.multipleOf)
  const low = lowerBound(spec, step)
  const high = upperBound(spec, step)
  if (low !== undefined && high !== undefined && compareDecimals(low, high) > 0) return NO_TEXT
  const zero = (low === undefined || low.sign <= 0) && (high === undefined || high.sign >= 0)
  const above = high === undefined || high.sign > 0
  const below = low === undefined || low.sign < 0
  const positive = new Magnitudes(
    low?.sign === 1 ? known(low) : undefined,
    above ? (high ?? LARGEST) : undefined,
    zero,
    step,
  )
  const negative = new Magnitudes(
    high?.sign === -1 ? known(negated(high)) : undefined,
    below ? (low === undefined ? LARGEST : negated(low)) : undefined,
    false,
    step,
  )
  const mirrored = low === undefined && high === undefined
  const numbers = yield* explore(positive, below ? negative : undefined, mirrored, fuel)
  const counted = positive.counted || (below && negative.counted)
  return counted ? withLength(numbers, 0, SIGNIFICANT_MULTIPLES, fuel) : numbers
}

/** Nothing smaller is ever written, so it bounds nothing. */
function known(bound: Decimal): Decimal | undefined {
  return compareDecimals(bound, TINY) <= 0 ? undefined : bound
}

function lowerBound(spec: NumberSpec, step: Multiples): Decimal | undefined {
  const bounds: Decimal[] = []
  if (spec.minimum !== undefined) bounds.push(decimalOf(spec.minimum))
  if (spec.exclusiveMinimum !== undefined) bounds.push(beyond(spec.exclusiveMinimum, true))
  const exact = step.integer ? bounds.map((bound) => rounded(bound, true)) : bounds
  return exact.sort(compareDecimals).at(-1)
}

function upperBound(spec: NumberSpec, step: Multiples): Decimal | undefined {
  const bounds: Decimal[] = []
  if (spec.maximum !== undefined) bounds.push(decimalOf(spec.maximum))
  if (spec.exclusiveMaximum !== undefined) bounds.push(beyond(spec.exclusiveMaximum, false))
  const exact = step.integer ? bounds.map((bound) => rounded(bound, false)) : bounds
  return exact.sort(compareDecimals)[0]
}

/** `mirrored`: all but zero may stand behind a minus as well as without one. */
function* explore(
  positive: Magnitudes,
  negative: Magnitudes | undefined,
  mirrored: boolean,
  fuel: Fuel,
): Slices<TextAutomaton> {
  letters ??= partition(Array.from(SYMBOLS, (c) => [c.charCodeAt(0), c.charCodeAt(0)]))
  const { classes, members } = letters
  const width = classes.count
  const columns = members.map((holds) => holds.indexOf(1))
  const ids = [new Map<number, number>(), new Map<number, number>()] as const
  const rows: number[] = new Array(width).fill(0)
  const accepting: number[] = [0]
  const nodes: { side: Magnitudes; at: NumberPlace | undefined }[] = [{ side: positive, at: undefined }]
  const stateOf = (from: Magnitudes, at: NumberPlace | undefined) => {
    if (at === undefined) return 0
    const side = mirrored && isNonZero(at) ? positive : from
    const known = ids[side === positive ? 0 : 1]
    const key = side.key(at)
    let id = known.get(key)
    if (id === undefined) {
      id = nodes.push({ side, at }) - 1
      accepting.push(side.accepts(at) ? 1 : 0)
      known.set(key, id)
    }
    return id
  }
  const start = stateOf(positive, positive.first)
  for (let s = 1; s < nodes.length; s++) {
    const { side, at } = nodes[s]!
    fuel.spend(PLACE_COST)
    if (fuel.tires()) yield
    const row = rows.length
    for (let i = 0; i < width; i++) rows.push(0)
    for (let i = 0; i < SYMBOLS.length; i++) {
      const alike = i < 10 && !side.differs(at!, i)
      rows[row + columns[i]!] = alike ? rows[row + columns[i - 1]!]! : stateOf(side, side.read(at!, SYMBOLS[i]!))
    }
    if (s === start && negative !== undefined)
      rows[row + columns[SYMBOLS.indexOf('-')]!] = stateOf(negative, negative.first)
  }
  return yield* minimiseInSlices(start, classes, new Uint32Array(rows), new Uint8Array(accepting))
}

/** Whether a digit other than zero has come. */
function isNonZero(at: NumberPlace): boolean {
  return at.phase === 'fraction' ? at.nonZero : at.phase === 'whole' ? at.digits > 0 : at.phase !== 'start'
}
