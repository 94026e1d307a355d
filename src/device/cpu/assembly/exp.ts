/** Added to a number below 2^22 in size, it leaves the nearest whole number in the lowest bits. */
export const ROUNDER: f32 = 12582912

/**
 * What e^x is made of. Compilers make a constant vector anew wherever it is used, by three instructions, of which memory
 * spares two. ln 2 stands there in two parts, so that n * ln 2 is subtracted without rounding.
 */
const PARTS = memory.data<f32>([
  // biome-ignore lint/suspicious/noApproximativeNumericConstant: data are written as they are stored, in 32 bits
  -87.33, 88.37, 1.44269504, 12582912, 0.693359375, -2.1219444e-4, 1.98756915e-4, 1.3981999507e-3, 8.3334519073e-3,
  4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1, 1,
])

function part(index: usize): v128 {
  return v128.load_splat<f32>(PARTS + (index << 2))
}

/** Of a class, as only its functions can be told to stand wherever they are used: loops over many values ask for that. */
// biome-ignore lint/complexity/noStaticOnlyClass: see above
export class Exponential {
  // @ts-expect-error: decorator
  @inline
  static of4(x: v128): v128 {
    const least = part(0)
    const y = f32x4.pmin(f32x4.pmax(x, least), part(1))
    const rounder = part(3)
    const rounded = f32x4.add(f32x4.mul(y, part(2)), rounder)
    const n = f32x4.sub(rounded, rounder)
    let r = f32x4.sub(y, f32x4.mul(n, part(4)))
    r = f32x4.sub(r, f32x4.mul(n, part(5)))
    let p = part(6)
    p = f32x4.add(f32x4.mul(p, r), part(7))
    p = f32x4.add(f32x4.mul(p, r), part(8))
    p = f32x4.add(f32x4.mul(p, r), part(9))
    p = f32x4.add(f32x4.mul(p, r), part(10))
    p = f32x4.add(f32x4.mul(p, r), part(11))
    const one = part(12)
    p = f32x4.add(f32x4.add(f32x4.mul(p, f32x4.mul(r, r)), r), one)
    // As a whole number, one is 127 << 23.
    const power = i32x4.add(i32x4.shl(rounded, 23), one)
    // What is no number stays none.
    return v128.andnot(f32x4.mul(p, power), f32x4.lt(x, least))
  }
}

/**
 * e^x in four lanes, within 2 units in the last place; 0 below -87, where f32 has no normal result left, and for NaN.
 * `pmin`, `pmax` and the rounding are one instruction each; `min`, `max` and `trunc_sat` are up to ten.
 */
export function exp4(x: v128): v128 {
  return Exponential.of4(x)
}
