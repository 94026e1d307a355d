/** Where a number stands while it is read, and its comparison with a bound. */

import type { Decimal } from './decimal.js'

/** No double needs more significant digits, and a text of more would not come back the same. */
export const SIGNIFICANT = 17
/** Below this many digits every decimal is a double of its own, so that a multiple stays a multiple once parsed. */
export const SIGNIFICANT_MULTIPLES = 15
/** From 1e21 on numbers are written with an exponent. */
export const WHOLE_DIGITS = 21
/** As below 1e-6. */
export const LEADING_ZEROS = 6
export const LEAST_EXPONENT = -323
export const GREATEST_EXPONENT = 308

export const FEW_REMAINDERS = 32

/** -1, 0 or 1: what has been read so far is below, equal to or above the bound's digits. */
export type Order = number

export type NumberPlace =
  | { readonly phase: 'start' }
  | {
      readonly phase: 'whole'
      /** Digits read; 0 for a lone zero. */
      readonly digits: number
      readonly low: Order
      readonly high: Order
      readonly rest: number
    }
  | {
      readonly phase: 'fraction'
      /** Digits read after the point, as far as anything depends on it. */
      readonly digits: number
      /** Digits that may still come. */
      readonly left: number
      readonly nonZero: boolean
      readonly low: Order
      readonly high: Order
      /** The same comparisons with the first digit under the bound's first, for an exponent; `single` if it may come. */
      readonly single: boolean
      readonly lowScaled: Order
      readonly highScaled: Order
      /** Digits read in all, as far as the scaled comparisons need them. */
      readonly total: number
      readonly rest: number
      readonly fresh: boolean
    }
  | { readonly phase: 'exponent'; readonly from: number; readonly to: number }
  | { readonly phase: 'end' }
  | { readonly phase: 'power'; readonly from: number; readonly to: number; readonly read: number }

export function needsPower(bound: Decimal): boolean {
  return bound.point > WHOLE_DIGITS || bound.point <= -LEADING_ZEROS
}

export function order(bound: Decimal, before: Order, index: number, digit: number): Order {
  if (before !== 0) return before
  const other = digitAt(bound, index)
  return digit < other ? -1 : digit > other ? 1 : 0
}

function digitAt({ digits }: Decimal, index: number): number {
  return index < 0 || index >= digits.length ? 0 : digits.charCodeAt(index) - 0x30
}

/** Whether the order after a digit may be another than after the digit before it. */
export function near(bound: Decimal | undefined, before: Order, index: number, digit: number): boolean {
  if (bound === undefined || before !== 0) return false
  const other = digitAt(bound, index)
  return digit === other || digit === other + 1
}

/** The order of whole parts of known length; a fraction may still decide where they are equal. */
export function settled(bound: Decimal, digits: number, before: Order): Order {
  const length = Math.max(0, bound.point)
  if (digits !== length) return digits < length ? -1 : 1
  return digits === 0 ? 0 : before
}

/** Where all digits read are equal, a bound with more of them is the greater. */
export function final(bound: Decimal, so: Order, read: number): Order {
  return so === 0 && read < bound.digits.length ? -1 : so
}

export function powers(from: number, to: number): NumberPlace | undefined {
  return from <= to ? { phase: 'power', from, to, read: 0 } : undefined
}

/** One more digit of an exponent, if some exponent within the bounds begins so. */
export function power(at: NumberPlace & { phase: 'power' }, digit: number): NumberPlace | undefined {
  const read = at.read * 10 + digit
  if (read === 0) return undefined
  for (let least = read, most = read; least <= at.to; least *= 10, most = most * 10 + 9) {
    if (most >= at.from) return read * 10 > at.to ? { phase: 'end' } : { ...at, read }
  }
  return undefined
}
