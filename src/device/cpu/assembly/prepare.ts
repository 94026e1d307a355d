/** Brings activations into the form that the matrix kernels read. */

import { BLOCK, F16, Q4, WIDE, X_HEADER_BYTES } from './abi'
import { ROUNDER } from './exp'
import { Q4_ZERO, stepBytesOf, WIDE_BLOCK_BYTES, X_BLOCK_BYTES } from './layout'

/**
 * The 16-bit kernel takes nibbles 0 and 2, 4 and 6, 1 and 3, 5 and 7 of eight at a time, and moves only the last pair
 * down to where it counts once: what the others count too much, their activations count less. All sums are 256 times
 * too great, and still exact: 256 * 15 * 127 * 32 < 2^24.
 */
const PLANE_FACTORS = i16x8(256, 256, 16, 16, 1, 1, 256, 256)

/** Activations in the form that a matrix of this kind is multiplied with; some take them as they are. */
export function prepare(kind: i32, x: usize, xStride: usize, out: usize, from: i32, to: i32, k: i32): void {
  if (kind === Q4 || kind === WIDE) quantize(x, xStride, out, from, to, k / BLOCK, kind === WIDE)
  else if (kind === F16) scaleUp(x, xStride, out, from, to, k)
}

/** Rounds rows of `x` to 8 bits per block of 32, with what the kernels need to undo the weights' zero point. */
export function quantize(x: usize, xStride: usize, out: usize, from: i32, to: i32, blocks: i32, wide: bool): void {
  if (ASC_FEATURE_RELAXED_SIMD && !wide) quantizeRows<i8>(x, xStride, out, from, to, blocks)
  else quantizeRows<i16>(x, xStride, out, from, to, blocks)
}

/** As bytes (T: i8), or in the 16 bits of the 16-bit kernel (i16). */
function quantizeRows<T>(x: usize, xStride: usize, out: usize, from: i32, to: i32, blocks: i32): void {
  const bytes = X_HEADER_BYTES + 4 * stepBytesOf<T>()
  let o = out + <usize>(from * blocks) * bytes
  for (let row = from; row < to; row++) {
    let p = x + <usize>row * xStride
    for (let i = 0; i < blocks; i++) {
      quantizeBlock<T>(p, o)
      p += BLOCK * 4
      o += bytes
    }
  }
}

function quantizeBlock<T>(p: usize, o: usize): void {
  const factor: i32 = sizeof<T>() === 1 ? 1 : 256
  // Compared by their bits, among which infinities and NaN are the greatest.
  let most = f32x4.abs(v128.load(p))
  let other = f32x4.abs(v128.load(p, 16))
  for (let i: usize = 32; i < 128; i += 32) {
    most = i32x4.max_s(most, f32x4.abs(v128.load(p + i)))
    other = i32x4.max_s(other, f32x4.abs(v128.load(p + i, 16)))
  }
  most = i32x4.max_s(most, other)
  most = i32x4.max_s(most, v128.shuffle<i32>(most, most, 2, 3, 0, 1))
  most = i32x4.max_s(most, v128.shuffle<i32>(most, most, 1, 0, 3, 2))
  const peak = f32x4.extract_lane(most, 0)
  store<f32>(o, peak / (127 * <f32>factor))
  // Below it 127 / peak overflows, and such a block is as good as zero.
  const inverse = f32x4.splat(peak > 1e-35 ? 127 / peak : 0)
  let sum = i32x4.splat(0)
  let before = sum
  let to = o + X_HEADER_BYTES
  for (let step = 0; step < 4; step++) {
    const a = rounded(f32x4.mul(v128.load(p), inverse))
    const b = rounded(f32x4.mul(v128.load(p, 16), inverse))
    sum = i32x4.add(sum, i32x4.add(a, b))
    const both = i16x8.narrow_i32x4_s(a, b)
    if (sizeof<T>() === 1) v128.store64_lane(to, i8x16.narrow_i16x8_s(both, both), 0)
    else v128.store(to, i16x8.mul(v128.shuffle<i16>(both, both, 0, 2, 4, 6, 1, 3, 5, 7), PLANE_FACTORS))
    p += 32
    to += stepBytesOf<T>()
    if (step === 1) {
      before = sum
      sum = i32x4.splat(0)
    }
  }
  // Both halves at once.
  sum = i32x4.dot_i16x8_s(i16x8.narrow_i32x4_s(before, sum), i16x8.splat(1))
  sum = i32x4.add(sum, v128.shuffle<i32>(sum, sum, 1, 0, 3, 2))
  const one = i32x4.extract_lane(sum, 0)
  const another = i32x4.extract_lane(sum, 2)
  store<i32>(o, -Q4_ZERO * factor * (one + another), 4)
  store<u32>(o, sizeof<T>() === 1 ? 0x0f0f0f0f : 0x000f000f, 8)
  store<i16>(o, <i16>one, 12)
  store<i16>(o, <i16>another, 14)
}

/** The nearest whole numbers. */
function rounded(v: v128): v128 {
  return i32x4.sub(f32x4.add(v, f32x4.splat(ROUNDER)), i32x4.splat(reinterpret<i32>(ROUNDER)))
}

/** Block `block` of 32 columns of each row, of which `x` holds those columns alone, in the form of a kind of matrix. */
export function prepareColumns(
  kind: i32,
  x: usize,
  xStride: usize,
  out: usize,
  outStride: usize,
  rows: i32,
  block: i32,
): void {
  const bytes = kind === Q4 ? X_BLOCK_BYTES : kind === WIDE ? WIDE_BLOCK_BYTES : BLOCK * 4
  const at = out + <usize>block * bytes
  for (let row: usize = 0; row < <usize>rows; row++) {
    if (ASC_FEATURE_RELAXED_SIMD && kind === Q4) quantizeBlock<i8>(x + row * xStride, at + row * outStride)
    else if (kind === Q4 || kind === WIDE) quantizeBlock<i16>(x + row * xStride, at + row * outStride)
    else if (kind === F16) scaleUp(x + row * xStride, 0, at + row * outStride, 0, 1, BLOCK)
  }
}

/** Rows of `x`, times 2^100: the f16 kernel widens weights without rescaling them, and so works 2^-112 too low. */
export function scaleUp(x: usize, xStride: usize, out: usize, from: i32, to: i32, k: i32): void {
  const up: f32 = reinterpret<f32>((127 + 100) << 23)
  const bytes = (<usize>k) << 2
  const whole = bytes & ~15
  for (let row = <usize>from; row < <usize>to; row++) {
    const p = x + row * xStride
    const o = out + row * bytes
    let i: usize = 0
    for (; i < whole; i += 16) v128.store(o + i, f32x4.mul(v128.load(p + i), f32x4.splat(up)))
    for (; i < bytes; i += 4) store<f32>(o + i, load<f32>(p + i) * up)
  }
}
