/** Storage in 16 bits. WebAssembly has no half floats: they are widened with integer shifts. */

/** Exponent and mantissa moved to where f32 has them: the value times 2^-112. */
export function widenLow(halves: v128): v128 {
  return align(i32x4.extend_low_i16x8_s(halves))
}

export function widenHigh(halves: v128): v128 {
  return align(i32x4.extend_high_i16x8_s(halves))
}

const BITS = memory.data<u32>([0x8fffe000])

/** The bits that a half has once it is widened; from memory, as compilers make a constant vector anew in every round of a loop. */
export function widenedBits(): v128 {
  return v128.load32_splat(BITS)
}

/** As `widenLow`, of the first of each two neighbours; the second comes cheaper than either half of the vector. */
export function widenFirst(halves: v128, bits: v128): v128 {
  return v128.and(i32x4.shr_s(i32x4.shl(halves, 16), 3), bits)
}

export function widenSecond(halves: v128, bits: v128): v128 {
  return v128.and(i32x4.shr_s(halves, 3), bits)
}

const UPPER = memory.data<u32>([0xffff0000])

/** bf16 is f32 without its lower half: of each two neighbours the first. */
function brainFirst(halves: v128): v128 {
  return i32x4.shl(halves, 16)
}

function brainSecond(halves: v128, upper: v128): v128 {
  return v128.and(halves, upper)
}

/** The bits that a bf16 has once it is f32. */
function brainBits(): v128 {
  return v128.load32_splat(UPPER)
}

/** What `first4` and `next4` need of each vector that is stored as T: f32, u16 for f16, i16 for bf16. */
export function bitsOf<T>(): v128 {
  return isSigned<T>() ? brainBits() : widenedBits()
}

/** Of eight values that begin at `at` with `line`: of f32 the first four and the next, of others each second. */
export function first4<T>(line: v128, bits: v128): v128 {
  if (sizeof<T>() === 4) return line
  return isSigned<T>() ? brainFirst(line) : widenFirst(line, bits)
}

export function next4<T>(at: usize, line: v128, bits: v128): v128 {
  if (sizeof<T>() === 4) return v128.load(at, 16)
  return isSigned<T>() ? brainSecond(line, bits) : widenSecond(line, bits)
}

function align(signed: v128): v128 {
  return v128.and(i32x4.shl(signed, 13), i32x4.splat(0x8fffe000))
}

/** Neither infinities nor NaN, which no weight is. */
export function f16ToF32(half: u16): f32 {
  const wide = ((<i32>(<i16>half)) << 13) & 0x8fffe000
  return reinterpret<f32>(wide) * reinterpret<f32>((127 + 112) << 23)
}

/** Of each lane, whether a half can hold it: neither what is too great nor what is no number. */
export function fitHalves(values: v128): v128 {
  return f32x4.le(f32x4.abs(values), f32x4.splat(65504))
}

/** To the nearest halves, ties to even, each in 32 bits; what does not fit becomes the greatest. */
export function halves4(values: v128): v128 {
  const sign = v128.and(i32x4.shr_u(values, 16), i32x4.splat(0x8000))
  const size = f32x4.mul(f32x4.pmin(f32x4.splat(65504), f32x4.abs(values)), f32x4.splat(reinterpret<f32>(15 << 23)))
  const odd = v128.and(i32x4.shr_u(size, 13), i32x4.splat(1))
  return v128.or(sign, i32x4.shr_u(i32x4.add(size, i32x4.add(odd, i32x4.splat(0xfff))), 13))
}

export function f32ToF16(value: f32): u16 {
  return <u16>i32x4.extract_lane(halves4(f32x4.splat(value)), 0)
}
