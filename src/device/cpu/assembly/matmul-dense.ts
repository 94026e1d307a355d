/**
 * y[t][n] (+)= sum over k of w[n][k] * x[t][k], w in f32, f16 or bf16, interleaved by eight rows. One sum per row, in the
 * order of k: the same whatever the number of tokens and threads.
 */

import { GROUP, SUMS_BYTES } from './abi'
import { bitsOf, first4, next4 } from './half'
import { putQuad, putRows, Quad } from './rows'

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

/** Groups that one token is multiplied with side by side: each sum waits for the one before it, and eight wait together. */
export const TOGETHER: i32 = 4

/** One token. f16: `x` comes from `scaleUp`. */
export function dense1<T>(w: usize, x: usize, y: usize, from: i32, to: i32, n: i32, k: i32, add: bool): void {
  const step = <usize>GROUP * sizeof<T>()
  const gap = <usize>k * step
  const end = x + ((<usize>k) << 2)
  const bits = bitsOf<T>()
  // Each has a quarter of them, so that it reads memory in order.
  const quarter = (to - from) / TOGETHER
  const far = <usize>quarter * gap
  let p = w + <usize>from * gap
  for (const stop = from + quarter; from < stop; from++) {
    let s0 = f32x4.splat(0)
    let s1 = s0
    let t0 = s0
    let t1 = s0
    let u0 = s0
    let u1 = s0
    let v0 = s0
    let v1 = s0
    let q = p + far
    let r = q + far
    let o = r + far
    for (let xp = x; xp < end; xp += 4) {
      const e = v128.load_splat<f32>(xp)
      let line = v128.load(p)
      s0 = f32x4.add(s0, f32x4.mul(first4<T>(line, bits), e))
      s1 = f32x4.add(s1, f32x4.mul(next4<T>(p, line, bits), e))
      line = v128.load(q)
      t0 = f32x4.add(t0, f32x4.mul(first4<T>(line, bits), e))
      t1 = f32x4.add(t1, f32x4.mul(next4<T>(q, line, bits), e))
      line = v128.load(r)
      u0 = f32x4.add(u0, f32x4.mul(first4<T>(line, bits), e))
      u1 = f32x4.add(u1, f32x4.mul(next4<T>(r, line, bits), e))
      line = v128.load(o)
      v0 = f32x4.add(v0, f32x4.mul(first4<T>(line, bits), e))
      v1 = f32x4.add(v1, f32x4.mul(next4<T>(o, line, bits), e))
      p += step
      q += step
      r += step
      o += step
    }
    putGroup<T>(y, from, s0, s1, n, add)
    putGroup<T>(y, from + quarter, t0, t1, n, add)
    putGroup<T>(y, from + quarter * 2, u0, u1, n, add)
    putGroup<T>(y, from + quarter * 3, v0, v1, n, add)
  }
  from += quarter * 3
  p += far * 3
  for (; from < to; from++) {
    let s0 = f32x4.splat(0)
    let s1 = s0
    for (let xp = x; xp < end; xp += 4) {
      const e = v128.load_splat<f32>(xp)
      const line = v128.load(p)
      s0 = f32x4.add(s0, f32x4.mul(first4<T>(line, bits), e))
      s1 = f32x4.add(s1, f32x4.mul(next4<T>(p, line, bits), e))
      p += step
    }
    putGroup<T>(y, from, s0, s1, n, add)
  }
}

function putGroup<T>(y: usize, group: i32, a: v128, b: v128, n: i32, add: bool): void {
  const out = y + ((<usize>(group * GROUP)) << 2)
  const rows = n - group * GROUP
  putRows(out, lower<T>(a, b), rows, add)
  putRows(out + 16, upper<T>(a, b), rows - 4, add)
}

/** Four tokens, `xStride` and `yStride` bytes apart. W: how weights lie, T: how they are stored. */
export function dense4<W, T>(
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
  const step = <usize>GROUP * sizeof<W>()
  const stride2 = xStride * 2
  const stride3 = xStride * 3
  const end = x + ((<usize>k) << 2)
  const bits = bitsOf<W>()
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
      const w0 = first4<W>(line, bits)
      const w1 = next4<W>(p, line, bits)
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
    Quad.store(sums, a0, a1, b0, b1, c0, c1, d0, d1)
    if (sizeof<T>() < 4) straighten<T>(sums)
    putQuad(sums, out, yStride, n - row, add)
  }
}

/** Sums as products leave them: of four tokens. */
function straighten<T>(sums: usize): void {
  for (const end = sums + 128; sums < end; sums += 32) {
    const a = v128.load(sums)
    const b = v128.load(sums, 16)
    v128.store(sums, lower<T>(a, b))
    v128.store(sums, upper<T>(a, b), 16)
  }
}

/** Tokens from which on it pays to widen a group once for all of them: then V8's revectorizer has vectors side by side. */
export const WIDENED_FROM: i32 = 16

/** So many tokens, a multiple of four, with weights in f16 or bf16. `room`: for what `dense4` needs, and a group in f32. */
export function denseOfMany<T>(
  w: usize,
  x: usize,
  xStride: usize,
  y: usize,
  yStride: usize,
  from: i32,
  to: i32,
  n: i32,
  k: i32,
  tokens: i32,
  add: bool,
  room: usize,
): void {
  const gap = <usize>k * GROUP * sizeof<T>()
  const wide = room + SUMS_BYTES
  for (; from < to; from++) {
    const row = from * GROUP
    widen<T>(w + <usize>from * gap, wide, k)
    let xp = x
    let out = y + ((<usize>row) << 2)
    for (let t = 0; t < tokens; t += 4) {
      dense4<f32, T>(wide, xp, xStride, out, yStride, 0, 1, n - row, k, add, room)
      xp += xStride << 2
      out += yStride << 2
    }
  }
}

/** Each two vectors of a column side by side. */
function widen<T>(w: usize, out: usize, k: i32): void {
  const bits = bitsOf<T>()
  for (const end = out + <usize>k * GROUP * 4; out < end; out += GROUP * 4) {
    const line = v128.load(w)
    v128.store(out, first4<T>(line, bits))
    v128.store(out, next4<T>(w, line, bits), 16)
    w += GROUP * sizeof<T>()
  }
}
