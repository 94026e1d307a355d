/**
 * Exponentials and logarithms of which every runtime computes the same bits. `Math.exp` and `Math.log` are as the engine
 * likes: V8's and JavaScriptCore's differ in the last bit, and so do two versions of V8. Here is nothing but additions,
 * multiplications and divisions, which are the same everywhere.
 */

/** ln 2 in two parts: the first in 32 bits, so that its multiples by an exponent are exact. */
const LN2 = 2977044471 / 4294967296
const PER_LN2 = 1 / Math.LN2
const REST = 1.9082149292705877e-10

/** One number, and its halves. */
const number = new Float64Array(1)
const halves = new Int32Array(number.buffer)
/** Which of them has the exponent. */
const HIGH = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1 ? 1 : 0

/** e to the power of x. */
export function exp(x: number): number {
  if (!(x > -746)) return x <= -746 ? 0 : x
  if (x > 710) return Number.POSITIVE_INFINITY
  const k = Math.floor(x * PER_LN2 + 0.5)
  const r = x - k * LN2 - k * REST
  // The series of 1/n!: what follows is less than half a bit for |r| <= ln 2 / 2.
  let sum = 1 / 479001600 + r * (1 / 6227020800)
  sum = 1 / 3628800 + r * (1 / 39916800 + r * sum)
  sum = 1 / 40320 + r * (1 / 362880 + r * sum)
  sum = 1 / 720 + r * (1 / 5040 + r * sum)
  sum = 1 / 24 + r * (1 / 120 + r * sum)
  sum = 1 / 2 + r * (1 / 6 + r * sum)
  const value = 1 + (r + r * r * sum)
  if (k > 1022) return value * power(k - 1022) * power(1022)
  return k < -1022 ? value * power(k + 1000) * power(-1000) : value * power(k)
}

/** The natural logarithm. */
export function log(x: number): number {
  if (!(x > 0)) return x === 0 ? Number.NEGATIVE_INFINITY : Number.NaN
  if (x === Number.POSITIVE_INFINITY) return x
  const isTiny = x < 2.2250738585072014e-308
  number[0] = isTiny ? x * 18014398509481984 : x
  const high = halves[HIGH]!
  let k = (high >>> 20) - 1023 - (isTiny ? 54 : 0)
  halves[HIGH] = (high & 0xfffff) | 0x3ff00000
  let m = number[0]!
  if (m > Math.SQRT2) {
    m /= 2
    k++
  }
  const s = (m - 1) / (m + 1)
  const z = s * s
  // The series of artanh, of which s is at most (sqrt 2 - 1) / (sqrt 2 + 1).
  let sum = 1 / 19 + z * (1 / 21)
  sum = 1 / 15 + z * (1 / 17 + z * sum)
  sum = 1 / 11 + z * (1 / 13 + z * sum)
  sum = 1 / 7 + z * (1 / 9 + z * sum)
  sum = 1 / 3 + z * (1 / 5 + z * sum)
  return k * LN2 + (k * REST + (2 * s + 2 * s * z * sum))
}

/** Shares whose sum is one: of e to the power of each score over `temperature`. */
export function softmax(scores: ArrayLike<number>, temperature = 1): number[] {
  const all = Array.from(scores)
  const most = Math.max(...all)
  const powers = all.map((score) => exp((score - most) / temperature))
  const sum = powers.reduce((total, power) => total + power, 0)
  return powers.map((power) => power / sum)
}

/** 2 to the power of k, for a normal number. */
function power(k: number): number {
  halves[1 - HIGH] = 0
  halves[HIGH] = (k + 1023) << 20
  return number[0]!
}
