/** What sums of codes are scaled by. */
import { X_HEADER_BYTES } from './abi'
import { widenHigh, widenLow } from './half'
import { X_STEP_BYTES } from './layout'

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

/** The lanes of a block's two sums that a share of it has: both, the first, the second. */
export function sumsOf(header: usize, shares: i32, share: i32): v128 {
  const sums = v128.load_splat<i32>(header, 12)
  if (shares === 1) return sums
  return v128.and(sums, i32x4.splat(share === 0 ? 0xffff : 0xffff0000))
}

/** total + sum * scale of the weights * scale of the activations, for four rows. */
export function scaledBy(sum: v128, scales: v128, x: v128, total: v128): v128 {
  return f32x4.add(total, f32x4.mul(f32x4.convert_i32x4_s(sum), f32x4.mul(scales, x)))
}

/** The sum of the activations themselves. */
export function sizeOf(sums: v128, x: v128): v128 {
  return f32x4.mul(f32x4.convert_i32x4_s(i32x4.dot_i16x8_s(sums, i16x8.splat(ASC_FEATURE_RELAXED_SIMD ? 1 : 256))), x)
}

/** What is taken off of four rows, of which `leasts` has what `unfold` left, all told. */
export function leastsOf(leasts: usize, x: usize, runs: i32, shares: i32): v128 {
  let total = f32x4.splat(0)
  for (let run = 0; run < runs; run++) {
    const by = v128.load_splat<f32>(x)
    for (let share = 0; share < shares; share++) {
      total = f32x4.add(total, f32x4.mul(sizeOf(sumsOf(x, shares, share), by), v128.load(leasts)))
      leasts += 64
    }
    x += X_HEADER_BYTES + 4 * X_STEP_BYTES
  }
  return total
}
