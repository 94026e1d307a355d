/** Added to a number below 2^22 in size, it leaves the nearest whole number in the lowest bits. */
export const ROUNDER: f32 = 12582912

/**
 * e^x in four lanes, within 2 units in the last place; 0 below -87, where f32 has no normal result left, and for NaN.
 * `pmin`, `pmax` and the rounding are one instruction each; `min`, `max` and `trunc_sat` are up to ten.
 */
export function exp4(x: v128): v128 {
  const least = f32x4.splat(-87.33)
  const y = f32x4.pmin(f32x4.pmax(x, least), f32x4.splat(88.37))
  const rounded = f32x4.add(f32x4.mul(y, f32x4.splat(<f32>Math.LOG2E)), f32x4.splat(ROUNDER))
  const n = f32x4.sub(rounded, f32x4.splat(ROUNDER))
  // ln 2 in two parts, so that n * ln 2 is subtracted without rounding.
  let r = f32x4.sub(y, f32x4.mul(n, f32x4.splat(0.693359375)))
  r = f32x4.sub(r, f32x4.mul(n, f32x4.splat(-2.1219444e-4)))
  let p = f32x4.splat(1.98756915e-4)
  p = f32x4.add(f32x4.mul(p, r), f32x4.splat(1.3981999507e-3))
  p = f32x4.add(f32x4.mul(p, r), f32x4.splat(8.3334519073e-3))
  p = f32x4.add(f32x4.mul(p, r), f32x4.splat(4.1665795894e-2))
  p = f32x4.add(f32x4.mul(p, r), f32x4.splat(1.6666665459e-1))
  p = f32x4.add(f32x4.mul(p, r), f32x4.splat(5.0000001201e-1))
  p = f32x4.add(f32x4.add(f32x4.mul(p, f32x4.mul(r, r)), r), f32x4.splat(1))
  const power = i32x4.add(i32x4.shl(rounded, 23), i32x4.splat(127 << 23))
  // What is no number stays none.
  return v128.andnot(f32x4.mul(p, power), f32x4.lt(x, least))
}
