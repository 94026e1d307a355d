/** Eight rows of blocks with four tokens at a time, codes unpacked for all of them. */
import { X_HEADER_BYTES } from './abi'
import { BYTES_SIGN, WORDS_BYTES } from './blocks'
import { stepBytesOf } from './layout'
import { addPairs, dotOf, pairsOf } from './q4-dot'
import { Quad } from './rows'
import { maskOf, scaledBy } from './scales'

/**
 * Codes as they are multiplied: 16-bit integers up to the factors of the activations, or bytes. Bytes of 8 bits are cut in
 * halves, the upper ones of a run first.
 */
export function unpackRuns(bits: i32, codes: usize, planes: usize, runs: i32): void {
  if (ASC_FEATURE_RELAXED_SIMD) {
    if (bits === 8) halveBytes(codes, planes, runs)
    else bytes(bits, codes, planes, runs)
  } else if (bits === 8) widenBytes(codes, planes, runs)
  else widen(bits, codes, planes, runs)
}

function halveBytes(codes: usize, planes: usize, runs: i32): void {
  const m = i8x16.splat(15)
  for (let run = 0; run < runs; run++) {
    for (let i = 0; i < 16; i++) {
      const w = v128.load(codes)
      v128.store(planes, v128.and(i16x8.shr_u(w, 4), m))
      v128.store(planes, v128.and(w, m), 256)
      codes += 16
      planes += 16
    }
    planes += 256
  }
}

/** Of a step of 4, 5 or 6 bits; the further ones are those of `further`. */
function bytes(bits: i32, codes: usize, planes: usize, runs: i32): void {
  const m = i8x16.splat(15)
  const f = i8x16.splat(bits === 4 ? 0 : bits === 5 ? 0x10 : 0x30)
  for (let step = 0; step < runs * 4; step++) {
    let g0 = f
    let g1 = f
    const further = furtherAt(bits, codes, step)
    if (bits > 4) {
      g0 = i32x4.shr_u(v128.load(further), furtherBy(bits, step))
      g1 = i32x4.shr_u(v128.load(further, 16), furtherBy(bits, step))
    }
    const p = wordsAt(bits, codes, step)
    const w0 = v128.load(p)
    const w1 = v128.load(p, 16)
    v128.store(planes, v128.or(v128.and(w0, m), v128.and(i16x8.shl(g0, 4), f)))
    v128.store(planes, v128.or(v128.and(w1, m), v128.and(i16x8.shl(g1, 4), f)), 16)
    v128.store(planes, v128.or(v128.and(i16x8.shr_u(w0, 4), m), v128.and(g0, f)), 32)
    v128.store(planes, v128.or(v128.and(i16x8.shr_u(w1, 4), m), v128.and(g1, f)), 48)
    planes += 64
  }
}

/** Where the words of a step, counted from the first run, and its further bits are. */
function wordsAt(bits: i32, codes: usize, step: i32): usize {
  if (bits === 4) return codes + <usize>step * WORDS_BYTES
  if (bits === 5) return codes + <usize>(step + (step >> 2) + 1) * WORDS_BYTES
  return codes + <usize>(step + (step >> 1) + 1) * WORDS_BYTES
}

function furtherAt(bits: i32, codes: usize, step: i32): usize {
  return codes + <usize>(bits === 5 ? (step >> 2) * 5 : (step >> 1) * 3) * WORDS_BYTES
}

function furtherBy(bits: i32, step: i32): i32 {
  return bits === 5 ? step & 3 : 2 * (step & 1)
}

function widen(bits: i32, codes: usize, planes: usize, runs: i32): void {
  const m = i16x8.splat(15)
  const m4 = i16x8.shl(m, 4)
  const m8 = i16x8.shl(m, 8)
  const f = i16x8.splat(bits === 4 ? 0 : bits === 5 ? 0x10 : 0x30)
  const f4 = i16x8.shl(f, 4)
  const f8 = i16x8.shl(f, 8)
  for (let step = 0; step < runs * 4; step++) {
    const p = wordsAt(bits, codes, step)
    const further = furtherAt(bits, codes, step)
    for (let side: usize = 0; side < 32; side += 16) {
      const w = v128.load(p + side)
      const g = bits > 4 ? i32x4.shr_u(v128.load(further + side), furtherBy(bits, step)) : f
      const u = i16x8.shl(g, 4)
      const to = planes + side
      v128.store(to, v128.or(v128.and(w, m), v128.and(u, f)))
      v128.store(to, v128.or(v128.and(w, m4), v128.and(u, f4)), 32)
      v128.store(to, v128.or(v128.and(w, m8), v128.and(u, f8)), 64)
      v128.store(to, v128.or(i16x8.shr_u(w, 12), v128.and(i16x8.shr_u(g, 8), f)), 96)
    }
    planes += 128
  }
}

/** Codes of 8 bits with the sign that they lack. */
export function signBytes(codes: usize, planes: usize, runs: i32): void {
  const sign = i8x16.splat(BYTES_SIGN)
  for (const end = codes + <usize>runs * 8 * WORDS_BYTES; codes < end; codes += 16) {
    v128.store(planes, v128.xor(v128.load(codes), sign))
    planes += 16
  }
}

export function widenBytes(codes: usize, planes: usize, runs: i32): void {
  const upper = i16x8.splat(<i16>0xff00)
  const sign = i8x16.splat(BYTES_SIGN)
  for (let step = 0; step < runs * 4; step++) {
    for (let side: usize = 0; side < 32; side += 16) {
      const a = v128.xor(v128.load(codes + side), sign)
      const b = v128.xor(v128.load(codes + side, WORDS_BYTES), sign)
      const to = planes + side
      v128.store(to, i16x8.shr_s(i16x8.shl(a, 8), 8))
      v128.store(to, i16x8.shr_s(i16x8.shl(b, 8), 4), 32)
      v128.store(to, v128.and(a, upper), 64)
      v128.store(to, i16x8.shr_s(b, 8), 96)
    }
    codes += 2 * WORDS_BYTES
    planes += 128
  }
}

/**
 * Four tokens in 16 bits, codes of 8 bits: apart from the function below, because compilers keep sums in registers only
 * where a function has no more than this. Without relaxed SIMD totals stay in `sums`: V8 takes them out of its registers
 * anyway, in an order that makes it a tenth slower. Where there is relaxed SIMD, V8 may have registers for all of them.
 */
export function quadOfWide(planes: usize, scales: usize, x: usize, xStride: usize, runs: i32, sums: usize): void {
  const stride2 = xStride * 2
  const stride3 = xStride * 3
  let s0 = f32x4.splat(0)
  let s1 = s0
  let s2 = s0
  let s3 = s0
  let s4 = s0
  let s5 = s0
  let s6 = s0
  let s7 = s0
  if (!ASC_FEATURE_RELAXED_SIMD) Quad.store(sums, s0, s1, s2, s3, s4, s5, s6, s7)
  for (; runs > 0; runs--) {
    const header = x
    let a0 = i32x4.splat(0)
    let b0 = a0
    let c0 = a0
    let d0 = a0
    let a1 = a0
    let b1 = a0
    let c1 = a0
    let d1 = a0
    x += X_HEADER_BYTES
    for (const end = x + 4 * stepBytesOf<i16>(); x < end; x += 4) {
      const m0 = v128.load(planes)
      const m1 = v128.load(planes, 16)
      let e = v128.load_splat<i32>(x)
      a0 = dotOf<i16>(m0, e, a0)
      a1 = dotOf<i16>(m1, e, a1)
      e = v128.load_splat<i32>(x + xStride)
      b0 = dotOf<i16>(m0, e, b0)
      b1 = dotOf<i16>(m1, e, b1)
      e = v128.load_splat<i32>(x + stride2)
      c0 = dotOf<i16>(m0, e, c0)
      c1 = dotOf<i16>(m1, e, c1)
      e = v128.load_splat<i32>(x + stride3)
      d0 = dotOf<i16>(m0, e, d0)
      d1 = dotOf<i16>(m1, e, d1)
      planes += 32
    }
    const low = v128.load(scales)
    const high = v128.load(scales, 16)
    const xa = v128.load_splat<f32>(header)
    const xb = v128.load_splat<f32>(header + xStride)
    const xc = v128.load_splat<f32>(header + stride2)
    const xd = v128.load_splat<f32>(header + stride3)
    if (ASC_FEATURE_RELAXED_SIMD) {
      s0 = scaledBy(a0, low, xa, s0)
      s1 = scaledBy(a1, high, xa, s1)
      s2 = scaledBy(b0, low, xb, s2)
      s3 = scaledBy(b1, high, xb, s3)
      s4 = scaledBy(c0, low, xc, s4)
      s5 = scaledBy(c1, high, xc, s5)
      s6 = scaledBy(d0, low, xd, s6)
      s7 = scaledBy(d1, high, xd, s7)
    } else {
      v128.store(sums, scaledBy(a0, low, xa, v128.load(sums)))
      v128.store(sums, scaledBy(a1, high, xa, v128.load(sums, 16)), 16)
      v128.store(sums, scaledBy(b0, low, xb, v128.load(sums, 32)), 32)
      v128.store(sums, scaledBy(b1, high, xb, v128.load(sums, 48)), 48)
      v128.store(sums, scaledBy(c0, low, xc, v128.load(sums, 64)), 64)
      v128.store(sums, scaledBy(c1, high, xc, v128.load(sums, 80)), 80)
      v128.store(sums, scaledBy(d0, low, xd, v128.load(sums, 96)), 96)
      v128.store(sums, scaledBy(d1, high, xd, v128.load(sums, 112)), 112)
    }
    scales += 32
  }
  if (ASC_FEATURE_RELAXED_SIMD) Quad.store(sums, s0, s1, s2, s3, s4, s5, s6, s7)
}

/**
 * Four tokens, `xStride` bytes apart, as bytes (T: i8) or in 16 bits (i16). H is i16 where bytes are cut in halves. `zeros`:
 * what each lane of the activations' sums is multiplied with. `starts`: what the sums of eight rows begin with; scales of a
 * share lie `scaleBytes` from those of the next.
 */
export function quadOfPlanes<T, H>(
  planes: usize,
  scales: usize,
  x: usize,
  xStride: usize,
  runs: i32,
  shares: i32,
  zeros: i32,
  starts: usize,
  scaleBytes: usize,
  sums: usize,
): void {
  const stride2 = xStride * 2
  const stride3 = xStride * 3
  const length = <usize>(shares === 1 ? 4 : 2) * stepBytesOf<T>()
  // Of bytes cut in halves the upper ones are multiplied first, and count for sixteen.
  const halved = sizeof<H>() === 2
  const zero = i16x8.splat(<i16>zeros)
  const start = halved ? i16x8.shr_s(zero, 4) : zero
  let s0 = v128.load(starts)
  let s1 = v128.load(starts, 16)
  let s2 = v128.load(starts, 32)
  let s3 = v128.load(starts, 48)
  let s4 = v128.load(starts, 64)
  let s5 = v128.load(starts, 80)
  let s6 = v128.load(starts, 96)
  let s7 = v128.load(starts, 112)
  for (let run = 0; run < runs; run++) {
    const header = x
    x += X_HEADER_BYTES
    for (let share = 0; share < shares; share++) {
      const mask = maskOf(shares, share)
      let a0 = i32x4.dot_i16x8_s(v128.and(v128.load_splat<i32>(header, 12), mask), start)
      let b0 = i32x4.dot_i16x8_s(v128.and(v128.load_splat<i32>(header + xStride, 12), mask), start)
      let c0 = i32x4.dot_i16x8_s(v128.and(v128.load_splat<i32>(header + stride2, 12), mask), start)
      let d0 = i32x4.dot_i16x8_s(v128.and(v128.load_splat<i32>(header + stride3, 12), mask), start)
      let a1 = a0
      let b1 = b0
      let c1 = c0
      let d1 = d0
      const end = x + length
      for (let again = halved; ; again = false) {
        for (; x < end; x += 4) {
          const m0 = v128.load(planes)
          const m1 = v128.load(planes, 16)
          let e = v128.load_splat<i32>(x)
          a0 = dotOf<T>(m0, e, a0)
          a1 = dotOf<T>(m1, e, a1)
          e = v128.load_splat<i32>(x + xStride)
          b0 = dotOf<T>(m0, e, b0)
          b1 = dotOf<T>(m1, e, b1)
          e = v128.load_splat<i32>(x + stride2)
          c0 = dotOf<T>(m0, e, c0)
          c1 = dotOf<T>(m1, e, c1)
          e = v128.load_splat<i32>(x + stride3)
          d0 = dotOf<T>(m0, e, d0)
          d1 = dotOf<T>(m1, e, d1)
          planes += 32
        }
        if (!again) break
        x -= length
        a0 = i32x4.shl(a0, 4)
        a1 = i32x4.shl(a1, 4)
        b0 = i32x4.shl(b0, 4)
        b1 = i32x4.shl(b1, 4)
        c0 = i32x4.shl(c0, 4)
        c1 = i32x4.shl(c1, 4)
        d0 = i32x4.shl(d0, 4)
        d1 = i32x4.shl(d1, 4)
      }
      const low = v128.load(scales)
      const high = v128.load(scales, 16)
      const xa = v128.load_splat<f32>(header)
      const xb = v128.load_splat<f32>(header + xStride)
      const xc = v128.load_splat<f32>(header + stride2)
      const xd = v128.load_splat<f32>(header + stride3)
      s0 = scaledBy(a0, low, xa, s0)
      s1 = scaledBy(a1, high, xa, s1)
      s2 = scaledBy(b0, low, xb, s2)
      s3 = scaledBy(b1, high, xb, s3)
      s4 = scaledBy(c0, low, xc, s4)
      s5 = scaledBy(c1, high, xc, s5)
      s6 = scaledBy(d0, low, xd, s6)
      s7 = scaledBy(d1, high, xd, s7)
      scales += scaleBytes
    }
  }
  Quad.store(sums, s0, s1, s2, s3, s4, s5, s6, s7)
}

/**
 * Four tokens as bytes, products added up by pairs: of codes of 4 bits all of a share before they are widened (N: i8), of
 * 5 or 6 bits two at a time (i16).
 */
export function quadOfPairs<N>(
  planes: usize,
  scales: usize,
  x: usize,
  xStride: usize,
  runs: i32,
  shares: i32,
  zeros: i32,
  starts: usize,
  scaleBytes: usize,
  sums: usize,
): void {
  const stride2 = xStride * 2
  const stride3 = xStride * 3
  const length = <usize>(shares === 1 ? 4 : 2) * stepBytesOf<i8>()
  const ones = i16x8.splat(1)
  const zero = i16x8.splat(<i16>zeros)
  let s0 = v128.load(starts)
  let s1 = v128.load(starts, 16)
  let s2 = v128.load(starts, 32)
  let s3 = v128.load(starts, 48)
  let s4 = v128.load(starts, 64)
  let s5 = v128.load(starts, 80)
  let s6 = v128.load(starts, 96)
  let s7 = v128.load(starts, 112)
  for (let run = 0; run < runs; run++) {
    const header = x
    x += X_HEADER_BYTES
    for (let share = 0; share < shares; share++) {
      const mask = maskOf(shares, share)
      let a0 = i32x4.splat(0)
      let b0 = a0
      let c0 = a0
      let d0 = a0
      let a1 = a0
      let b1 = a0
      let c1 = a0
      let d1 = a0
      const end = x + length
      if (sizeof<N>() === 1) {
        for (; x < end; x += 4) {
          const m0 = v128.load(planes)
          const m1 = v128.load(planes, 16)
          let e = v128.load_splat<i32>(x)
          a0 = i16x8.add(a0, pairsOf(m0, e))
          a1 = i16x8.add(a1, pairsOf(m1, e))
          e = v128.load_splat<i32>(x + xStride)
          b0 = i16x8.add(b0, pairsOf(m0, e))
          b1 = i16x8.add(b1, pairsOf(m1, e))
          e = v128.load_splat<i32>(x + stride2)
          c0 = i16x8.add(c0, pairsOf(m0, e))
          c1 = i16x8.add(c1, pairsOf(m1, e))
          e = v128.load_splat<i32>(x + stride3)
          d0 = i16x8.add(d0, pairsOf(m0, e))
          d1 = i16x8.add(d1, pairsOf(m1, e))
          planes += 32
        }
      } else {
        for (; x < end; x += 8) {
          const m0 = v128.load(planes)
          const m1 = v128.load(planes, 16)
          const m2 = v128.load(planes, 32)
          const m3 = v128.load(planes, 48)
          let e = v128.load_splat<i32>(x)
          let f = v128.load_splat<i32>(x, 4)
          a0 = addPairs(i16x8.add(pairsOf(m0, e), pairsOf(m2, f)), ones, a0)
          a1 = addPairs(i16x8.add(pairsOf(m1, e), pairsOf(m3, f)), ones, a1)
          e = v128.load_splat<i32>(x + xStride)
          f = v128.load_splat<i32>(x + xStride, 4)
          b0 = addPairs(i16x8.add(pairsOf(m0, e), pairsOf(m2, f)), ones, b0)
          b1 = addPairs(i16x8.add(pairsOf(m1, e), pairsOf(m3, f)), ones, b1)
          e = v128.load_splat<i32>(x + stride2)
          f = v128.load_splat<i32>(x + stride2, 4)
          c0 = addPairs(i16x8.add(pairsOf(m0, e), pairsOf(m2, f)), ones, c0)
          c1 = addPairs(i16x8.add(pairsOf(m1, e), pairsOf(m3, f)), ones, c1)
          e = v128.load_splat<i32>(x + stride3)
          f = v128.load_splat<i32>(x + stride3, 4)
          d0 = addPairs(i16x8.add(pairsOf(m0, e), pairsOf(m2, f)), ones, d0)
          d1 = addPairs(i16x8.add(pairsOf(m1, e), pairsOf(m3, f)), ones, d1)
          planes += 64
        }
      }
      if (sizeof<N>() === 1) {
        a0 = i32x4.dot_i16x8_s(a0, ones)
        a1 = i32x4.dot_i16x8_s(a1, ones)
        b0 = i32x4.dot_i16x8_s(b0, ones)
        b1 = i32x4.dot_i16x8_s(b1, ones)
        c0 = i32x4.dot_i16x8_s(c0, ones)
        c1 = i32x4.dot_i16x8_s(c1, ones)
        d0 = i32x4.dot_i16x8_s(d0, ones)
        d1 = i32x4.dot_i16x8_s(d1, ones)
      }
      const low = v128.load(scales)
      const high = v128.load(scales, 16)
      let z = i32x4.dot_i16x8_s(v128.and(v128.load_splat<i32>(header, 12), mask), zero)
      let by = v128.load_splat<f32>(header)
      s0 = scaledBy(i32x4.add(a0, z), low, by, s0)
      s1 = scaledBy(i32x4.add(a1, z), high, by, s1)
      z = i32x4.dot_i16x8_s(v128.and(v128.load_splat<i32>(header + xStride, 12), mask), zero)
      by = v128.load_splat<f32>(header + xStride)
      s2 = scaledBy(i32x4.add(b0, z), low, by, s2)
      s3 = scaledBy(i32x4.add(b1, z), high, by, s3)
      z = i32x4.dot_i16x8_s(v128.and(v128.load_splat<i32>(header + stride2, 12), mask), zero)
      by = v128.load_splat<f32>(header + stride2)
      s4 = scaledBy(i32x4.add(c0, z), low, by, s4)
      s5 = scaledBy(i32x4.add(c1, z), high, by, s5)
      z = i32x4.dot_i16x8_s(v128.and(v128.load_splat<i32>(header + stride3, 12), mask), zero)
      by = v128.load_splat<f32>(header + stride3)
      s6 = scaledBy(i32x4.add(d0, z), low, by, s6)
      s7 = scaledBy(i32x4.add(d1, z), high, by, s7)
      scales += scaleBytes
    }
  }
  Quad.store(sums, s0, s1, s2, s3, s4, s5, s6, s7)
}
