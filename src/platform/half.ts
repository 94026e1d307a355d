/** IEEE half precision, by its bits. */

const word = new Uint32Array(1)
const float = new Float32Array(word.buffer)

export function halfToFloat(bits: number): number {
  const exponent = (bits >>> 10) & 31
  const fraction = bits & 1023
  const sign = bits & 0x8000 ? -1 : 1
  if (exponent === 0) return sign * fraction * 2 ** -24
  if (exponent === 31) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15)
}

/** Rounds to nearest, ties to even. */
export function floatToHalf(value: number): number {
  float[0] = value
  const bits = word[0]!
  const sign = (bits >>> 16) & 0x8000
  const magnitude = bits & 0x7fffffff
  if (magnitude > 0x7f800000) return sign | 0x7e00
  // 65520 and above round to infinity.
  if (magnitude >= 0x477ff000) return sign | 0x7c00
  if (magnitude < 0x38800000) {
    // Subnormal: adding 0.5 aligns the fraction so that the addition itself rounds.
    float[0] = Math.abs(value) + 0.5
    return sign | (word[0]! - 0x3f000000)
  }
  const odd = (magnitude >>> 13) & 1
  return sign | ((magnitude - 0x38000000 + 0xfff + odd) >>> 13)
}
