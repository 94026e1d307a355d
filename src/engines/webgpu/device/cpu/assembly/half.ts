/** Storage in 16 bits. WebAssembly has no half floats: they are widened with integer shifts. */

/** Exponent and mantissa moved to where f32 has them: the value times 2^-112. */
export function widenLow(halves: v128): v128 {
  return align(i32x4.extend_low_i16x8_s(halves))
}

export function widenHigh(halves: v128): v128 {
  return align(i32x4.extend_high_i16x8_s(halves))
}

/** bf16 is f32 without its lower half. */
export function brainLow(halves: v128): v128 {
  return i32x4.shl(i32x4.extend_low_i16x8_s(halves), 16)
}

export function brainHigh(halves: v128): v128 {
  return i32x4.shl(i32x4.extend_high_i16x8_s(halves), 16)
}

function align(signed: v128): v128 {
  return v128.and(i32x4.shl(signed, 13), i32x4.splat(0x8fffe000))
}

/** Neither infinities nor NaN, which no weight is. */
export function f16ToF32(half: u16): f32 {
  const wide = ((<i32>(<i16>half)) << 13) & 0x8fffe000
  return reinterpret<f32>(wide) * reinterpret<f32>((127 + 112) << 23)
}

/** To the nearest half, ties to even; what is too great becomes the greatest. */
export function f32ToF16(value: f32): u16 {
  const sign = (reinterpret<u32>(value) >>> 16) & 0x8000
  const size = min(abs(value), <f32>65504) * reinterpret<f32>((127 - 112) << 23)
  const bits = reinterpret<u32>(size)
  return <u16>(sign | ((bits + 0xfff + ((bits >>> 13) & 1)) >>> 13))
}
