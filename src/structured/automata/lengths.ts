/** Languages cut to a number of code points. */

import { Fuel } from '../fuel.js'
import { CountedAutomaton } from './counted.js'
import { ANY_TEXT } from './sets.js'
import type { TextAutomaton } from './types.js'

/** `base` cut to texts of `min` to `max` code points; `max` may be `Infinity`. Costs no state per length. */
export function withLength(base: TextAutomaton, min: number, max: number, fuel = new Fuel()): TextAutomaton {
  if (min <= 0 && max === Number.POSITIVE_INFINITY) return base
  return CountedAutomaton.of(base, Math.max(0, min), max, fuel)
}

/** Every text of `min` to `max` code points. */
export function lengthBetween(min: number, max: number): TextAutomaton {
  return withLength(ANY_TEXT, min, max)
}
