import type { Slices } from '../../platform/index.js'
import { differenceInSlices, intersectInSlices } from '../automata/sets.js'
import { type TextAutomaton, TextError } from '../automata/types.js'
import type { Fuel } from '../fuel.js'
import { multiplesOf } from '../numbers/multiples.js'
import { numberAutomatonInSlices } from '../numbers/number.js'
import { compileRegexInSlices } from '../regex/regex.js'

/** More remainders are not told apart over all of these numbers. */
const MOST_REMAINDERS = 1000
const MOST_PLACES = 6

/** Whether the numbers that are no multiples of this can be told. */
export function canDeny(step: number): boolean {
  try {
    const { moduli, scale } = multiplesOf(false, step)
    return moduli[0]! <= MOST_REMAINDERS && scale <= MOST_PLACES
  } catch (error) {
    if (error instanceof TextError) return false
    throw error
  }
}

/**
 * The numbers that are no multiples of this: of at most 15 digits and without an exponent, since beyond that a number
 * may become a multiple as it is read.
 */
export function* unlike(numbers: TextAutomaton, step: number, fuel: Fuel): Slices<TextAutomaton> {
  const digits = yield* compileRegexInSlices('^-?(?:\\d\\.?){1,15}$', fuel)
  const plain = yield* compileRegexInSlices('^(?:0|-?[1-9]\\d*|-?(?:0|[1-9]\\d*)\\.\\d*[1-9])$', fuel)
  const short = yield* intersectInSlices(numbers, digits, fuel)
  const candidates = yield* intersectInSlices(short, plain, fuel)
  const multiples = yield* numberAutomatonInSlices({ multipleOf: step }, fuel)
  return yield* differenceInSlices(candidates, multiples, fuel)
}
