/**
 * y[t][n] (+)= sum over k of w[n][k] * x[t][k], w in 4 bits, x quantised to 8 bits per block of 32 columns.
 *
 * Sums within a block are exact integers and blocks are added in order, so a result depends neither on how many tokens
 * are multiplied together nor on how rows are shared among threads.
 */

import { GROUP, Q4_BLOCK_BYTES, Q4_SCALES_BYTES, Q4_STEP_BYTES, Q4_ZERO, X_HEADER_BYTES, X_STEP_BYTES } from './layout'
import { putRows } from './rows'

function mask(): v128 {
  return ASC_FEATURE_RELAXED_SIMD ? i8x16.splat(0x0f) : i16x8.splat(0x0f)
}

function dot(plane: v128, x: v128, sum: v128): v128 {
  if (ASC_FEATURE_RELAXED_SIMD) return i32x4.relaxed_dot_i8x16_i7x16_add_s(x, plane, sum)
  return i32x4.add(sum, i32x4.dot_i16x8_s(plane, x))
}

function scaled(sum: v128, scales: usize, x: usize, total: v128): v128 {
  const scale = f32x4.mul(v128.load(scales), v128.load_splat<f32>(x))
  return f32x4.add(total, f32x4.mul(f32x4.convert_i32x4_s(sum), scale))
}

/** One token. */
export function matmulQ4x1(w: usize, x: usize, y: usize, from: i32, to: i32, n: i32, blocks: i32, add: bool): void {
  const m = mask()
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
      p += Q4_SCALES_BYTES
      xp += X_HEADER_BYTES
      for (let step = 0; step < 4; step++) {
        const w0 = v128.load(p)
        const w1 = v128.load(p, 16)
        let e = v128.load_splat<i32>(xp)
        a0 = dot(v128.and(w0, m), e, a0)
        a1 = dot(v128.and(w1, m), e, a1)
        e = v128.load_splat<i32>(xp, 4)
        a0 = dot(v128.and(i16x8.shr_u(w0, 4), m), e, a0)
        a1 = dot(v128.and(i16x8.shr_u(w1, 4), m), e, a1)
        if (!ASC_FEATURE_RELAXED_SIMD) {
          e = v128.load_splat<i32>(xp, 8)
          a0 = dot(v128.and(i16x8.shr_u(w0, 8), m), e, a0)
          a1 = dot(v128.and(i16x8.shr_u(w1, 8), m), e, a1)
          e = v128.load_splat<i32>(xp, 12)
          a0 = dot(i16x8.shr_u(w0, 12), e, a0)
          a1 = dot(i16x8.shr_u(w1, 12), e, a1)
        }
        p += Q4_STEP_BYTES
        xp += X_STEP_BYTES
      }
      low = scaled(a0, scales, header, low)
      high = scaled(a1, scales + 16, header, high)
    }
    const row = g * GROUP
    putRows(y + ((<usize>row) << 2), low, n - row, add)
    putRows(y + ((<usize>row) << 2) + 16, high, n - row - 4, add)
  }
}

/** Four tokens, `xStride` and `yStride` bytes apart: a weight is unpacked once for all of them. */
export function matmulQ4x4(
  w: usize,
  x: usize,
  xStride: usize,
  y: usize,
  yStride: usize,
  from: i32,
  to: i32,
  n: i32,
  blocks: i32,
  add: bool,
): void {
  const m = mask()
  const stride2 = xStride * 2
  const stride3 = xStride * 3
  let p = w + <usize>(from * blocks) * Q4_BLOCK_BYTES
  for (let g = from; g < to; g++) {
    let xp = x
    let s0 = f32x4.splat(0)
    let s1 = s0
    let s2 = s0
    let s3 = s0
    let s4 = s0
    let s5 = s0
    let s6 = s0
    let s7 = s0
    for (let b = 0; b < blocks; b++) {
      const scales = p
      const header = xp
      let a0 = v128.load_splat<i32>(xp, 4)
      let a1 = a0
      let b0 = v128.load_splat<i32>(xp + xStride, 4)
      let b1 = b0
      let c0 = v128.load_splat<i32>(xp + stride2, 4)
      let c1 = c0
      let d0 = v128.load_splat<i32>(xp + stride3, 4)
      let d1 = d0
      p += Q4_SCALES_BYTES
      xp += X_HEADER_BYTES
      for (let step = 0; step < 4; step++) {
        let w0 = v128.load(p)
        let w1 = v128.load(p, 16)
        const planes = ASC_FEATURE_RELAXED_SIMD ? 2 : 4
        for (let plane = 0; plane < planes; plane++) {
          const m0 = v128.and(w0, m)
          const m1 = v128.and(w1, m)
          let e = v128.load_splat<i32>(xp)
          a0 = dot(m0, e, a0)
          a1 = dot(m1, e, a1)
          e = v128.load_splat<i32>(xp + xStride)
          b0 = dot(m0, e, b0)
          b1 = dot(m1, e, b1)
          e = v128.load_splat<i32>(xp + stride2)
          c0 = dot(m0, e, c0)
          c1 = dot(m1, e, c1)
          e = v128.load_splat<i32>(xp + stride3)
          d0 = dot(m0, e, d0)
          d1 = dot(m1, e, d1)
          w0 = i16x8.shr_u(w0, 4)
          w1 = i16x8.shr_u(w1, 4)
          xp += 4
        }
        p += Q4_STEP_BYTES
      }
      s0 = scaled(a0, scales, header, s0)
      s1 = scaled(a1, scales + 16, header, s1)
      s2 = scaled(b0, scales, header + xStride, s2)
      s3 = scaled(b1, scales + 16, header + xStride, s3)
      s4 = scaled(c0, scales, header + stride2, s4)
      s5 = scaled(c1, scales + 16, header + stride2, s5)
      s6 = scaled(d0, scales, header + stride3, s6)
      s7 = scaled(d1, scales + 16, header + stride3, s7)
    }
    const row = g * GROUP
    let out = y + ((<usize>row) << 2)
    putRows(out, s0, n - row, add)
    putRows(out + 16, s1, n - row - 4, add)
    out += yStride
    putRows(out, s2, n - row, add)
    putRows(out + 16, s3, n - row - 4, add)
    out += yStride
    putRows(out, s4, n - row, add)
    putRows(out + 16, s5, n - row - 4, add)
    out += yStride
    putRows(out, s6, n - row, add)
    putRows(out + 16, s7, n - row - 4, add)
  }
}

/**
 * One token with its activations as they are, f32: what rounding them costs is measured against it. About three times
 * slower.
 */
export function matmulQ4Exact(w: usize, x: usize, y: usize, from: i32, to: i32, n: i32, blocks: i32, add: bool): void {
  let p = w + <usize>(from * blocks) * Q4_BLOCK_BYTES
  for (let g = from; g < to; g++) {
    let xp = x
    let low = f32x4.splat(0)
    let high = low
    for (let b = 0; b < blocks; b++) {
      const scales = p
      let s0 = f32x4.splat(0)
      let s1 = s0
      p += Q4_SCALES_BYTES
      for (let step = 0; step < 4; step++) {
        let w0 = v128.load(p)
        let w1 = v128.load(p, 16)
        for (let i = 0; i < 8; i++) {
          // Byte t of a lane holds columns t and t + 4.
          const e = v128.load_splat<f32>(xp + ((<usize>((i >> 1) | ((i & 1) << 2))) << 2))
          s0 = f32x4.add(s0, f32x4.mul(e, weights(w0)))
          s1 = f32x4.add(s1, f32x4.mul(e, weights(w1)))
          w0 = i32x4.shr_u(w0, 4)
          w1 = i32x4.shr_u(w1, 4)
        }
        p += Q4_STEP_BYTES
        xp += 32
      }
      low = f32x4.add(low, f32x4.mul(s0, v128.load(scales)))
      high = f32x4.add(high, f32x4.mul(s1, v128.load(scales, 16)))
    }
    const row = g * GROUP
    putRows(y + ((<usize>row) << 2), low, n - row, add)
    putRows(y + ((<usize>row) << 2) + 16, high, n - row - 4, add)
  }
}

function weights(codes: v128): v128 {
  return f32x4.convert_i32x4_s(i32x4.sub(v128.and(codes, i32x4.splat(15)), i32x4.splat(Q4_ZERO)))
}
