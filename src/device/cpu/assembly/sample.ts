/** Passes over a row of logits. What decides between tokens is left to `sampler.ts`, in doubles. */
import { exp4 } from './exp'

/** The greatest of `n` values. */
export function greatest(p: usize, n: i32): f32 {
  const end = p + ((<usize>n) << 2)
  const whole = p + ((<usize>(n & ~7)) << 2)
  let m0 = f32x4.splat(-Infinity)
  let m1 = m0
  for (; p < whole; p += 32) {
    m0 = f32x4.pmax(m0, v128.load(p))
    m1 = f32x4.pmax(m1, v128.load(p, 16))
  }
  m0 = f32x4.pmax(m0, m1)
  m0 = f32x4.pmax(m0, v128.shuffle<i32>(m0, m0, 2, 3, 0, 1))
  m0 = f32x4.pmax(m0, v128.shuffle<i32>(m0, m0, 1, 0, 3, 2))
  let most = f32x4.extract_lane(m0, 0)
  for (; p < end; p += 4) {
    const value = load<f32>(p)
    if (value > most) most = value
  }
  return most
}

/** Whether all of `n` values are finite: anything else minus itself is no zero. */
export function areFinite(p: usize, n: i32): bool {
  const end = p + ((<usize>n) << 2)
  const whole = p + ((<usize>(n & ~7)) << 2)
  let d0 = i32x4.splat(0)
  let d1 = d0
  for (; p < whole; p += 32) {
    const a = v128.load(p)
    const b = v128.load(p, 16)
    d0 = v128.or(d0, f32x4.sub(a, a))
    d1 = v128.or(d1, f32x4.sub(b, b))
  }
  let rest: f32 = 0
  for (; p < end; p += 4) rest += load<f32>(p) - load<f32>(p)
  return rest === 0 && !v128.any_true(v128.or(d0, d1))
}

/** Sum of e^((value - most) * inverse). */
export function sumExp(p: usize, n: i32, most: f32, inverse: f32): f64 {
  const end = p + ((<usize>n) << 2)
  const mosts = f32x4.splat(most)
  const inverses = f32x4.splat(inverse)
  let total: f64 = 0
  while (p + 16 <= end) {
    // Short sums in f32, added up in f64: the error stays that of a few additions.
    const stop = min(p + 1024, p + ((end - p) & ~15))
    let sum = f32x4.splat(0)
    for (; p < stop; p += 16) sum = f32x4.add(sum, exp4(f32x4.mul(f32x4.sub(v128.load(p), mosts), inverses)))
    total += <f64>f32x4.extract_lane(sum, 0) + <f64>f32x4.extract_lane(sum, 1)
    total += <f64>f32x4.extract_lane(sum, 2) + <f64>f32x4.extract_lane(sum, 3)
  }
  for (; p < end; p += 4) total += <f64>f32x4.extract_lane(exp4(f32x4.splat((load<f32>(p) - most) * inverse)), 0)
  return total
}

/** Writes the ids of all values that are at least `least`, in order; returns how many. */
export function idsAtLeast(p: usize, n: i32, least: f32, ids: usize): i32 {
  const start = ids
  const leasts = f32x4.splat(least)
  let id = 0
  for (; id + 4 <= n; id += 4) {
    if (v128.any_true(f32x4.ge(v128.load(p), leasts))) {
      for (let lane: usize = 0; lane < 4; lane++) {
        if (load<f32>(p + (lane << 2)) >= least) {
          store<i32>(ids, id + <i32>lane)
          ids += 4
        }
      }
    }
    p += 16
  }
  for (; id < n; id++) {
    if (load<f32>(p) >= least) {
      store<i32>(ids, id)
      ids += 4
    }
    p += 4
  }
  return <i32>((ids - start) >> 2)
}

/** Sets to -Infinity what the mask's bits forbid. There is a word for each 32 values, the last perhaps beyond `n`. */
export function forbid(p: usize, n: i32, mask: usize): void {
  const least = f32x4.splat(-Infinity)
  for (let id = 0; id < n; id += 32) {
    const word = load<u32>(mask)
    mask += 4
    if (word === 0xffffffff) {
      p += 128
      continue
    }
    if (id + 32 > n) {
      for (; id < n; id++) {
        if (((word >>> (id & 31)) & 1) === 0) store<f32>(p, -Infinity)
        p += 4
      }
      return
    }
    const bits = i32x4.splat(word)
    let lanes = i32x4(1, 2, 4, 8)
    for (let i = 0; i < 8; i++) {
      const allowed = i32x4.ne(v128.and(bits, lanes), i32x4.splat(0))
      v128.store(p, v128.bitselect(v128.load(p), least, allowed))
      lanes = i32x4.shl(lanes, 4)
      p += 16
    }
  }
}
