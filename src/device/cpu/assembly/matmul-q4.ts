/**
 * y[t][n] (+)= sum over k of w[n][k] * x[t][k], w in 4 bits, x quantised to 8 bits per block of 32 columns.
 *
 * Sums within a block are exact integers and blocks are added in order, so a result depends neither on how many tokens
 * are multiplied together nor on how rows are shared among threads.
 */
import { GROUP, Q4_BLOCK_BYTES, X_HEADER_BYTES } from './abi'
import { Q4_SCALES_BYTES, Q4_STEP_BYTES, X_STEP_BYTES } from './layout'
import { addPairs, dot, pairsOf, scaled } from './q4-dot'
import { putEight } from './rows'

/** One token, products added up by fours (P: i8) or by pairs (i16). */
export function matmulQ4x1<P>(
  w: usize,
  x: usize,
  y: usize,
  from: i32,
  to: i32,
  n: i32,
  blocks: i32,
  add: bool,
  sums: usize,
): void {
  const m = v128.load_splat<i32>(x, 8)
  const m4 = i16x8.shl(m, 4)
  const m8 = i16x8.shl(m, 8)
  const ones = i16x8.shr_u(m, 11)
  let p = w + <usize>(from * blocks) * Q4_BLOCK_BYTES
  for (let g = from; g < to; g++) {
    let xp = x
    let low = f32x4.splat(0)
    let high = f32x4.splat(0)
    for (let b = 0; b < blocks; b++) {
      const scales = p
      const header = xp
      let a0 = v128.load_splat<i32>(xp, 4)
      let a1 = a0
      let p0 = i32x4.splat(0)
      let p1 = p0
      p += Q4_SCALES_BYTES
      xp += X_HEADER_BYTES
      for (let step = 0; step < 4; step++) {
        const w0 = v128.load(p)
        const w1 = v128.load(p, 16)
        let e = v128.load_splat<i32>(xp)
        if (sizeof<P>() > 1) {
          const f = v128.load_splat<i32>(xp, 4)
          p0 = i16x8.add(p0, i16x8.add(pairsOf(v128.and(w0, m), e), pairsOf(v128.and(i16x8.shr_u(w0, 4), m), f)))
          p1 = i16x8.add(p1, i16x8.add(pairsOf(v128.and(w1, m), e), pairsOf(v128.and(i16x8.shr_u(w1, 4), m), f)))
          p += Q4_STEP_BYTES
          xp += X_STEP_BYTES
          continue
        }
        a0 = dot(v128.and(w0, m), e, a0)
        a1 = dot(v128.and(w1, m), e, a1)
        e = v128.load_splat<i32>(xp, 4)
        if (ASC_FEATURE_RELAXED_SIMD) {
          a0 = dot(v128.and(i16x8.shr_u(w0, 4), m), e, a0)
          a1 = dot(v128.and(i16x8.shr_u(w1, 4), m), e, a1)
        } else {
          a0 = dot(v128.and(w0, m4), e, a0)
          a1 = dot(v128.and(w1, m4), e, a1)
          e = v128.load_splat<i32>(xp, 8)
          a0 = dot(v128.and(w0, m8), e, a0)
          a1 = dot(v128.and(w1, m8), e, a1)
          e = v128.load_splat<i32>(xp, 12)
          a0 = dot(i16x8.shr_u(w0, 12), e, a0)
          a1 = dot(i16x8.shr_u(w1, 12), e, a1)
        }
        p += Q4_STEP_BYTES
        xp += X_STEP_BYTES
      }
      if (sizeof<P>() > 1) {
        a0 = addPairs(p0, ones, a0)
        a1 = addPairs(p1, ones, a1)
      }
      low = scaled(a0, scales, header, low)
      high = scaled(a1, scales + 16, header, high)
    }
    v128.store(sums, low)
    v128.store(sums, high, 16)
    const row = g * GROUP
    putEight(sums, y + ((<usize>row) << 2), n - row, add)
  }
}
