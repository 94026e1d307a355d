/** What sums of codes are scaled by. */
import { widenHigh, widenLow } from './half'
import { X_BLOCK_BYTES } from './layout'

/** Eight halves as f32. */
export function wideLow(halves: v128): v128 {
  return wide(widenLow(halves))
}

export function wideHigh(halves: v128): v128 {
  return wide(widenHigh(halves))
}

function wide(v: v128): v128 {
  return f32x4.mul(v, f32x4.splat(reinterpret<f32>((127 + 112) << 23)))
}

/** Which lanes of a block's two sums a share of it has: both, the first, the second. */
export function maskOf(shares: i32, share: i32): v128 {
  return i32x4.splat(shares === 1 ? -1 : share === 0 ? 0xffff : 0xffff0000)
}

/** The sums of a share. */
export function sumsOf(header: usize, shares: i32, share: i32): v128 {
  const sums = v128.load_splat<i32>(header, 12)
  if (shares === 1) return sums
  return v128.and(sums, maskOf(shares, share))
}

/** total + sum * scale of the weights * scale of the activations, for four rows. */
export function scaledBy(sum: v128, scales: v128, x: v128, total: v128): v128 {
  return f32x4.add(total, f32x4.mul(f32x4.convert_i32x4_s(sum), f32x4.mul(scales, x)))
}

/** The sum of the activations themselves. */
export function sizeOf(sums: v128, x: v128): v128 {
  return f32x4.mul(f32x4.convert_i32x4_s(i32x4.dot_i16x8_s(sums, i16x8.splat(ASC_FEATURE_RELAXED_SIMD ? 1 : 256))), x)
}

/** What is taken off of eight rows, negated, to `out`; `scales` are as `unfold` leaves them. */
export function leastsOfOne(scales: usize, x: usize, runs: i32, shares: i32, out: usize): void {
  let low = f32x4.splat(0)
  let high = low
  for (let run = 0; run < runs; run++) {
    const by = v128.load_splat<f32>(x)
    for (let share = 0; share < shares; share++) {
      const size = sizeOf(sumsOf(x, shares, share), by)
      low = f32x4.add(low, f32x4.mul(size, v128.load(scales, 32)))
      high = f32x4.add(high, f32x4.mul(size, v128.load(scales, 48)))
      scales += 64
    }
    x += X_BLOCK_BYTES
  }
  v128.store(out, f32x4.neg(low))
  v128.store(out, f32x4.neg(high), 16)
}

/** The same with four tokens, `xStride` bytes apart. */
export function leastsOfFour(scales: usize, x: usize, xStride: usize, runs: i32, shares: i32, out: usize): void {
  let s0 = f32x4.splat(0)
  let s1 = s0
  let s2 = s0
  let s3 = s0
  let s4 = s0
  let s5 = s0
  let s6 = s0
  let s7 = s0
  for (let run = 0; run < runs; run++) {
    for (let share = 0; share < shares; share++) {
      const low = v128.load(scales, 32)
      const high = v128.load(scales, 48)
      let p = x
      let size = sizeOf(sumsOf(p, shares, share), v128.load_splat<f32>(p))
      s0 = f32x4.add(s0, f32x4.mul(size, low))
      s1 = f32x4.add(s1, f32x4.mul(size, high))
      p += xStride
      size = sizeOf(sumsOf(p, shares, share), v128.load_splat<f32>(p))
      s2 = f32x4.add(s2, f32x4.mul(size, low))
      s3 = f32x4.add(s3, f32x4.mul(size, high))
      p += xStride
      size = sizeOf(sumsOf(p, shares, share), v128.load_splat<f32>(p))
      s4 = f32x4.add(s4, f32x4.mul(size, low))
      s5 = f32x4.add(s5, f32x4.mul(size, high))
      p += xStride
      size = sizeOf(sumsOf(p, shares, share), v128.load_splat<f32>(p))
      s6 = f32x4.add(s6, f32x4.mul(size, low))
      s7 = f32x4.add(s7, f32x4.mul(size, high))
      scales += 64
    }
    x += X_BLOCK_BYTES
  }
  v128.store(out, f32x4.neg(s0))
  v128.store(out, f32x4.neg(s1), 16)
  v128.store(out, f32x4.neg(s2), 32)
  v128.store(out, f32x4.neg(s3), 48)
  v128.store(out, f32x4.neg(s4), 64)
  v128.store(out, f32x4.neg(s5), 80)
  v128.store(out, f32x4.neg(s6), 96)
  v128.store(out, f32x4.neg(s7), 112)
}
