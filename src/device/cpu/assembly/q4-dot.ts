/** What the 4-bit kernels share: a product of nibbles with rounded activations, and what makes a sum a result. */

/** sum + plane * x, by pairs or by fours of neighbours. */
export function dot(plane: v128, x: v128, sum: v128): v128 {
  if (ASC_FEATURE_RELAXED_SIMD) return i32x4.relaxed_dot_i8x16_i7x16_add_s(x, plane, sum)
  return i32x4.add(sum, i32x4.dot_i16x8_s(plane, x))
}

/** Of activations as bytes (T: i8), or in 16 bits (i16). */
export function dotOf<T>(plane: v128, x: v128, sum: v128): v128 {
  if (ASC_FEATURE_RELAXED_SIMD) {
    if (sizeof<T>() === 1) return i32x4.relaxed_dot_i8x16_i7x16_add_s(x, plane, sum)
  }
  return i32x4.add(sum, i32x4.dot_i16x8_s(plane, x))
}

/**
 * plane * x by pairs of neighbours, in 16 bits. A processor without an instruction for fours takes five for them and one
 * for pairs. With codes of 4 bits eight of these are added up before anything is too great, of 5 bits four, of 6 bits two.
 */
export function pairsOf(plane: v128, x: v128): v128 {
  if (ASC_FEATURE_RELAXED_SIMD) return i16x8.relaxed_dot_i8x16_i7x16_s(x, plane)
  return plane
}

/** sum + both halves of each lane, times `by`, which stands in each half. */
export function addPairs(pairs: v128, by: v128, sum: v128): v128 {
  return i32x4.add(sum, i32x4.dot_i16x8_s(pairs, by))
}

/** total + sum * scale of the weights * scale of the activations, for four rows. */
export function scaled(sum: v128, scales: usize, x: usize, total: v128): v128 {
  const scale = f32x4.mul(v128.load(scales), v128.load_splat<f32>(x))
  return f32x4.add(total, f32x4.mul(f32x4.convert_i32x4_s(sum), scale))
}
