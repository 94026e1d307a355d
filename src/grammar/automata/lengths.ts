/** Languages cut to a number of code points. */

import type { Slices } from '../../platform/index.js'
import { Fuel } from '../fuel.js'
import { CountedAutomaton } from './counted.js'
import { isSparse, type Sparse, wholeInSlices } from './stretches.js'
import type { TextAutomaton } from './types.js'

/** `base` cut to texts of `min` to `max` code points; `max` may be `Infinity`. Costs no state per length. */
export function withLength(base: TextAutomaton, min: number, max: number, fuel = new Fuel()): TextAutomaton {
  // The shortest of its texts are known, and of few characters; most lower bounds are no more than that.
  if (isSparse(base) && min <= base.distance(base.start)) return withUpTo(base, max, fuel)
  if (min <= 0 && max === Number.POSITIVE_INFINITY) return base
  return CountedAutomaton.of(base, Math.max(0, min), max, fuel)
}

/** The same with a pause every few milliseconds where `base` is made of a text, which may be long. */
export function* withLengthInSlices(base: TextAutomaton, min: number, max: number, fuel: Fuel): Slices<TextAutomaton> {
  // A lower bound is known of all states.
  if (min > base.distance(base.start)) yield* wholeInSlices(base instanceof CountedAutomaton ? base.base : base)
  return withLength(base, min, max, fuel)
}

function withUpTo(base: Sparse, max: number, fuel: Fuel): TextAutomaton {
  return max >= base.longest ? base : CountedAutomaton.of(base, 0, max, fuel)
}
