/**
 * y[t][n] (+)= sum over k of w[n][k] * x[t][k], w in f32, f16 or bf16, interleaved by eight rows. One sum per row, in the
 * order of k: the same whatever the number of tokens and threads.
 */

import { GROUP } from './abi'
import { bitsOf, first4, next4 } from './half'
import { putQuad, putRows } from './rows'

/** The sums of rows 0 to 3, of those that `first4` and `next4` made. */
function lower<T>(a: v128, b: v128): v128 {
  return settle<T>(sizeof<T>() === 4 ? a : i32x4.shuffle(a, b, 0, 4, 1, 5))
}

function upper<T>(a: v128, b: v128): v128 {
  return settle<T>(sizeof<T>() === 4 ? b : i32x4.shuffle(a, b, 2, 6, 3, 7))
}

/** Back from where widened f16 times scaled activations live: 2^100 * 2^-112. */
function settle<T>(sum: v128): v128 {
  return sizeof<T>() === 2 && !isSigned<T>() ? f32x4.mul(sum, f32x4.splat(4096)) : sum
}

/** One token. f16: `x` comes from `scaleUp`. */
export function dense1<T>(w: usize, x: usize, y: usize, from: i32, to: i32, n: i32, k: i32, add: bool): void {
  const step = <usize>GROUP * sizeof<T>()
  let p = w + <usize>(from * k) * step
  const end = x + ((<usize>k) << 2)
  const bits = bitsOf<T>()
  for (let g = from; g < to; g++) {
    let s0 = f32x4.splat(0)
    let s1 = s0
    let xp = x
    // Two columns at a time: V8 does that by itself in some loops, but not in this one where memory is shared.
    for (; xp + 4 < end; xp += 8) {
      const e = v128.load_splat<f32>(xp)
      const f = v128.load_splat<f32>(xp, 4)
      const line = v128.load(p)
      s0 = f32x4.add(s0, f32x4.mul(first4<T>(line, bits), e))
      s1 = f32x4.add(s1, f32x4.mul(next4<T>(p, line, bits), e))
      p += step
      const next = v128.load(p)
      s0 = f32x4.add(s0, f32x4.mul(first4<T>(next, bits), f))
      s1 = f32x4.add(s1, f32x4.mul(next4<T>(p, next, bits), f))
      p += step
    }
    if (xp < end) {
      const e = v128.load_splat<f32>(xp)
      const line = v128.load(p)
      s0 = f32x4.add(s0, f32x4.mul(first4<T>(line, bits), e))
      s1 = f32x4.add(s1, f32x4.mul(next4<T>(p, line, bits), e))
      p += step
    }
    const row = g * GROUP
    const out = y + ((<usize>row) << 2)
    putRows(out, lower<T>(s0, s1), n - row, add)
    putRows(out + 16, upper<T>(s0, s1), n - row - 4, add)
  }
}

/** Four tokens, `xStride` and `yStride` bytes apart. */
export function dense4<T>(
  w: usize,
  x: usize,
  xStride: usize,
  y: usize,
  yStride: usize,
  from: i32,
  to: i32,
  n: i32,
  k: i32,
  add: bool,
  sums: usize,
): void {
  const step = <usize>GROUP * sizeof<T>()
  const stride2 = xStride * 2
  const stride3 = xStride * 3
  const end = x + ((<usize>k) << 2)
  const bits = bitsOf<T>()
  let p = w + <usize>(from * k) * step
  for (let g = from; g < to; g++) {
    let a0 = f32x4.splat(0)
    let a1 = a0
    let b0 = a0
    let b1 = a0
    let c0 = a0
    let c1 = a0
    let d0 = a0
    let d1 = a0
    for (let xp = x; xp < end; xp += 4) {
      const line = v128.load(p)
      const w0 = first4<T>(line, bits)
      const w1 = next4<T>(p, line, bits)
      let e = v128.load_splat<f32>(xp)
      a0 = f32x4.add(a0, f32x4.mul(w0, e))
      a1 = f32x4.add(a1, f32x4.mul(w1, e))
      e = v128.load_splat<f32>(xp + xStride)
      b0 = f32x4.add(b0, f32x4.mul(w0, e))
      b1 = f32x4.add(b1, f32x4.mul(w1, e))
      e = v128.load_splat<f32>(xp + stride2)
      c0 = f32x4.add(c0, f32x4.mul(w0, e))
      c1 = f32x4.add(c1, f32x4.mul(w1, e))
      e = v128.load_splat<f32>(xp + stride3)
      d0 = f32x4.add(d0, f32x4.mul(w0, e))
      d1 = f32x4.add(d1, f32x4.mul(w1, e))
      p += step
    }
    const row = g * GROUP
    const out = y + ((<usize>row) << 2)
    v128.store(sums, lower<T>(a0, a1))
    v128.store(sums, upper<T>(a0, a1), 16)
    v128.store(sums, lower<T>(b0, b1), 32)
    v128.store(sums, upper<T>(b0, b1), 48)
    v128.store(sums, lower<T>(c0, c1), 64)
    v128.store(sums, upper<T>(c0, c1), 80)
    v128.store(sums, lower<T>(d0, d1), 96)
    v128.store(sums, upper<T>(d0, d1), 112)
    putQuad(sums, out, yStride, n - row, add)
  }
}
