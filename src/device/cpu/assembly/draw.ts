/** The race that draws a token: `sampling.ts` defines it, in doubles; here it is narrowed down to a few tokens. */
import { exp4 } from './exp'

/** Values summed up in f32 before the sum goes on in f64: the error stays that of a few additions. */
const SHORT: i32 = 256
const FACTOR: i32 = <i32>0x85ebca6b
const UNIT: f32 = 1.0 / 16777216
/** Below it not even the luckiest word, 2^-24, beats the unluckiest, 24 ln 2, of a token whose p is 1; a little less. */
const HOPELESS: f32 = 3.5e-9

/** The words of chance that `sampling.ts` gives four tokens, 23 bits each. `product`: (token + 1) * FACTOR. */
function words(key: v128, product: v128): v128 {
  let x = v128.xor(key, product)
  x = v128.xor(x, i32x4.shr_u(x, 16))
  x = i32x4.mul(x, i32x4.splat(0x21f0aaad))
  x = v128.xor(x, i32x4.shr_u(x, 15))
  x = i32x4.mul(x, i32x4.splat(0x735a2d97))
  return i32x4.shr_u(v128.xor(x, i32x4.shr_u(x, 15)), 9)
}

/** Four values, -Infinity in place of those past the `left` that there are. */
function loadSome(p: usize, left: i32): v128 {
  if (left >= 4) return v128.load(p)
  let some = f32x4.splat(-Infinity)
  some = v128.load32_lane(p, some, 0)
  if (left > 1) some = v128.load32_lane(p, some, 1, 4)
  if (left > 2) some = v128.load32_lane(p, some, 2, 8)
  return some
}

/**
 * The race of all tokens: the greatest ln p + g wins, p = e^((value - most) * inverse) and g = -ln(-ln u), so it is the
 * token of the least -ln(u) / p. Logarithms are spared: 1 - u <= -ln u <= (1 - u) / u. Writes each p to `weights`, minus
 * the lower bound of each to `odds`, and to `bound` the least of the upper bounds, which the winner does not exceed; both
 * bounds are 2^24 times too great. Returns the sum of p.
 */
export function race(
  p: usize,
  n: i32,
  most: f32,
  inverse: f32,
  key: i32,
  weights: usize,
  odds: usize,
  bound: usize,
): f64 {
  const keys = i32x4.splat(key)
  const mosts = f32x4.splat(most)
  const inverses = f32x4.splat(inverse)
  const least = f32x4.splat(HOPELESS)
  let products = i32x4.mul(i32x4(1, 2, 3, 4), i32x4.splat(FACTOR))
  let best = f32x4.splat(Infinity)
  let total: f64 = 0
  for (let id = 0; id < n; ) {
    const stop = min(id + SHORT, n)
    let sum = f32x4.splat(0)
    for (; id < stop; id += 4) {
      const e = exp4(f32x4.mul(f32x4.sub(loadSome(p, n - id), mosts), inverses))
      sum = f32x4.add(sum, e)
      v128.store(weights, e)
      if (v128.any_true(f32x4.ge(e, least))) {
        const twice = i32x4.shl(words(keys, products), 1)
        const rest = f32x4.convert_i32x4_s(i32x4.sub(i32x4.splat(0xffffff), twice))
        const u = f32x4.mul(f32x4.convert_i32x4_s(v128.or(twice, i32x4.splat(1))), f32x4.splat(UNIT))
        const upper = f32x4.div(rest, f32x4.mul(e, u))
        best = f32x4.pmin(best, upper)
        v128.store(odds, f32x4.neg(f32x4.mul(upper, u)))
      } else {
        v128.store(odds, f32x4.splat(-Infinity))
      }
      products = i32x4.add(products, i32x4.splat(FACTOR << 2))
      p += 16
      weights += 16
      odds += 16
    }
    total += sumOf(sum)
  }
  store<f32>(bound, leastOf(best))
  return total
}

/** The same race once more, among the tokens whose value is greater than `above`: others drop out of `odds`. */
export function raceAbove(p: usize, n: i32, above: f32, weights: usize, odds: usize, bound: usize): f64 {
  const aboves = f32x4.splat(above)
  let best = f32x4.splat(Infinity)
  let total: f64 = 0
  for (let id = 0; id < n; ) {
    const stop = min(id + SHORT, n)
    let sum = f32x4.splat(0)
    for (; id < stop; id += 4) {
      const stays = f32x4.gt(loadSome(p, n - id), aboves)
      const e = v128.and(v128.load(weights), stays)
      sum = f32x4.add(sum, e)
      const lower = v128.bitselect(v128.load(odds), f32x4.splat(-Infinity), stays)
      v128.store(odds, lower)
      // u again, of which -(1 - u) / p is in `odds`; below 1 / 18 it is too rough, and -ln u is at most 18 (1 - u).
      const u = f32x4.add(f32x4.splat(1), f32x4.mul(f32x4.mul(lower, e), f32x4.splat(UNIT)))
      best = f32x4.pmin(best, f32x4.neg(f32x4.div(lower, f32x4.pmax(u, f32x4.splat(1.0 / 18)))))
      p += 16
      weights += 16
      odds += 16
    }
    total += sumOf(sum)
  }
  store<f32>(bound, leastOf(best))
  return total
}

function sumOf(v: v128): f64 {
  const low = <f64>f32x4.extract_lane(v, 0) + <f64>f32x4.extract_lane(v, 1)
  return low + (<f64>f32x4.extract_lane(v, 2) + <f64>f32x4.extract_lane(v, 3))
}

function leastOf(v: v128): f32 {
  v = f32x4.pmin(v, v128.shuffle<i32>(v, v, 2, 3, 0, 1))
  return f32x4.extract_lane(f32x4.pmin(v, v128.shuffle<i32>(v, v, 1, 0, 3, 2)), 0)
}
