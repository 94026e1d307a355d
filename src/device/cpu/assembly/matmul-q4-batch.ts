/** The product of `matmul-q4.ts` for four tokens at a time. */
import { GROUP, Q4_BLOCK_BYTES, X_HEADER_BYTES } from './abi'
import { Q4_SCALES_BYTES, Q4_STEP_BYTES, X_STEP_BYTES } from './layout'
import { addPairs, dot, pairsOf, scaled } from './q4-dot'
import { putQuad, Quad } from './rows'

/** The weights of one group as 16-bit integers, in the order of the activations and up to their factors. */
function unpack(w: usize, planes: usize, blocks: i32): void {
  const m = i16x8.splat(0x0f)
  for (let b = 0; b < blocks; b++) {
    w += Q4_SCALES_BYTES
    for (let step = 0; step < 4; step++) {
      const w0 = v128.load(w)
      const w1 = v128.load(w, 16)
      v128.store(planes, v128.and(w0, m))
      v128.store(planes, v128.and(w1, m), 16)
      v128.store(planes, v128.and(w0, i16x8.splat(0xf0)), 32)
      v128.store(planes, v128.and(w1, i16x8.splat(0xf0)), 48)
      v128.store(planes, v128.and(w0, i16x8.splat(0xf00)), 64)
      v128.store(planes, v128.and(w1, i16x8.splat(0xf00)), 80)
      v128.store(planes, i16x8.shr_u(w0, 12), 96)
      v128.store(planes, i16x8.shr_u(w1, 12), 112)
      w += Q4_STEP_BYTES
      planes += 128
    }
  }
}

/** The same as bytes. */
function unpackBytes(w: usize, planes: usize, blocks: i32): void {
  const m = i8x16.splat(0x0f)
  for (let b = 0; b < blocks; b++) {
    w += Q4_SCALES_BYTES
    for (let step = 0; step < 4; step++) {
      const w0 = v128.load(w)
      const w1 = v128.load(w, 16)
      v128.store(planes, v128.and(w0, m))
      v128.store(planes, v128.and(w1, m), 16)
      v128.store(planes, v128.and(i16x8.shr_u(w0, 4), m), 32)
      v128.store(planes, v128.and(i16x8.shr_u(w1, 4), m), 48)
      w += Q4_STEP_BYTES
      planes += 64
    }
  }
}

/**
 * `quads` times four tokens, `xStride` and `yStride` bytes apart. `planes` has room for a group of eight rows in 16-bit
 * integers: compilers keep sums in registers only if the innermost loop is no more than loads and products. These are
 * added up by fours (P: i8) or by pairs (i16).
 */
export function matmulQ4x4<P>(
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
  quads: i32,
  planes: usize,
): void {
  const groupBytes = <usize>blocks * Q4_BLOCK_BYTES
  const sums = planes + <usize>blocks * 512
  for (let g = from; g < to; g++) {
    const p = w + <usize>g * groupBytes
    if (sizeof<P>() > 1) unpackBytes(p, planes, blocks)
    else if (!ASC_FEATURE_RELAXED_SIMD) unpack(p, planes, blocks)
    const out = y + ((<usize>(g * GROUP)) << 2)
    for (let t: usize = 0; t < <usize>quads * 4; t += 4) {
      const xt = x + t * xStride
      const yt = out + t * yStride
      if (sizeof<P>() > 1) quadOfPairs(p, planes, xt, xStride, blocks, sums)
      else quad(p, planes, xt, xStride, blocks, sums)
      putQuad(sums, yt, yStride, n - g * GROUP, add)
    }
  }
}

function quad(p: usize, planes: usize, x: usize, xStride: usize, blocks: i32, sums: usize): void {
  const m = i8x16.splat(0x0f)
  const stride2 = xStride * 2
  const stride3 = xStride * 3
  let s0 = f32x4.splat(0)
  let s1 = s0
  let s2 = s0
  let s3 = s0
  let s4 = s0
  let s5 = s0
  let s6 = s0
  let s7 = s0
  for (let b = 0; b < blocks; b++) {
    const header = x
    let a0 = v128.load_splat<i32>(x, 4)
    let a1 = a0
    let b0 = v128.load_splat<i32>(x + xStride, 4)
    let b1 = b0
    let c0 = v128.load_splat<i32>(x + stride2, 4)
    let c1 = c0
    let d0 = v128.load_splat<i32>(x + stride3, 4)
    let d1 = d0
    x += X_HEADER_BYTES
    const end = x + 4 * X_STEP_BYTES
    if (ASC_FEATURE_RELAXED_SIMD) {
      for (let q = p + Q4_SCALES_BYTES; x < end; q += Q4_STEP_BYTES) {
        let w0 = v128.load(q)
        let w1 = v128.load(q, 16)
        // Low nibbles, then high ones.
        for (let half = 0; half < 2; half++) {
          const m0 = v128.and(w0, m)
          const m1 = v128.and(w1, m)
          let e = v128.load_splat<i32>(x)
          a0 = dot(m0, e, a0)
          a1 = dot(m1, e, a1)
          e = v128.load_splat<i32>(x + xStride)
          b0 = dot(m0, e, b0)
          b1 = dot(m1, e, b1)
          e = v128.load_splat<i32>(x + stride2)
          c0 = dot(m0, e, c0)
          c1 = dot(m1, e, c1)
          e = v128.load_splat<i32>(x + stride3)
          d0 = dot(m0, e, d0)
          d1 = dot(m1, e, d1)
          w0 = i16x8.shr_u(w0, 4)
          w1 = i16x8.shr_u(w1, 4)
          x += 4
        }
      }
    } else {
      for (; x < end; x += 4) {
        const m0 = v128.load(planes)
        const m1 = v128.load(planes, 16)
        let e = v128.load_splat<i32>(x)
        a0 = dot(m0, e, a0)
        a1 = dot(m1, e, a1)
        e = v128.load_splat<i32>(x + xStride)
        b0 = dot(m0, e, b0)
        b1 = dot(m1, e, b1)
        e = v128.load_splat<i32>(x + stride2)
        c0 = dot(m0, e, c0)
        c1 = dot(m1, e, c1)
        e = v128.load_splat<i32>(x + stride3)
        d0 = dot(m0, e, d0)
        d1 = dot(m1, e, d1)
        planes += 32
      }
    }
    s0 = scaled(a0, p, header, s0)
    s1 = scaled(a1, p + 16, header, s1)
    s2 = scaled(b0, p, header + xStride, s2)
    s3 = scaled(b1, p + 16, header + xStride, s3)
    s4 = scaled(c0, p, header + stride2, s4)
    s5 = scaled(c1, p + 16, header + stride2, s5)
    s6 = scaled(d0, p, header + stride3, s6)
    s7 = scaled(d1, p + 16, header + stride3, s7)
    p += Q4_BLOCK_BYTES
  }
  Quad.store(sums, s0, s1, s2, s3, s4, s5, s6, s7)
}

function quadOfPairs(p: usize, planes: usize, x: usize, xStride: usize, blocks: i32, sums: usize): void {
  const ones = i16x8.splat(1)
  const stride2 = xStride * 2
  const stride3 = xStride * 3
  let s0 = f32x4.splat(0)
  let s1 = s0
  let s2 = s0
  let s3 = s0
  let s4 = s0
  let s5 = s0
  let s6 = s0
  let s7 = s0
  for (; blocks > 0; blocks--) {
    const header = x
    let a0 = i32x4.splat(0)
    let b0 = a0
    let c0 = a0
    let d0 = a0
    let a1 = a0
    let b1 = a0
    let c1 = a0
    let d1 = a0
    x += X_HEADER_BYTES
    for (const end = x + 4 * X_STEP_BYTES; x < end; x += 4) {
      const m0 = v128.load(planes)
      const m1 = v128.load(planes, 16)
      let e = v128.load_splat<i32>(x)
      a0 = i16x8.add(a0, pairsOf(m0, e))
      a1 = i16x8.add(a1, pairsOf(m1, e))
      e = v128.load_splat<i32>(x + xStride)
      b0 = i16x8.add(b0, pairsOf(m0, e))
      b1 = i16x8.add(b1, pairsOf(m1, e))
      e = v128.load_splat<i32>(x + stride2)
      c0 = i16x8.add(c0, pairsOf(m0, e))
      c1 = i16x8.add(c1, pairsOf(m1, e))
      e = v128.load_splat<i32>(x + stride3)
      d0 = i16x8.add(d0, pairsOf(m0, e))
      d1 = i16x8.add(d1, pairsOf(m1, e))
      planes += 32
    }
    let z = v128.load_splat<i32>(header, 4)
    s0 = scaled(addPairs(a0, ones, z), p, header, s0)
    s1 = scaled(addPairs(a1, ones, z), p + 16, header, s1)
    z = v128.load_splat<i32>(header + xStride, 4)
    s2 = scaled(addPairs(b0, ones, z), p, header + xStride, s2)
    s3 = scaled(addPairs(b1, ones, z), p + 16, header + xStride, s3)
    z = v128.load_splat<i32>(header + stride2, 4)
    s4 = scaled(addPairs(c0, ones, z), p, header + stride2, s4)
    s5 = scaled(addPairs(c1, ones, z), p + 16, header + stride2, s5)
    z = v128.load_splat<i32>(header + stride3, 4)
    s6 = scaled(addPairs(d0, ones, z), p, header + stride3, s6)
    s7 = scaled(addPairs(d1, ones, z), p + 16, header + stride3, s7)
    p += Q4_BLOCK_BYTES
  }
  Quad.store(sums, s0, s1, s2, s3, s4, s5, s6, s7)
}
