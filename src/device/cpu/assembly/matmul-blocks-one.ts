/** Eight rows of blocks with one token, codes unpacked in registers. */
import { X_HEADER_BYTES } from './abi'
import { BYTES_SIGN, WORDS_BYTES } from './blocks'
import { stepBytesOf, X_STEP_BYTES } from './layout'
import { addPairs, dot, dotOf, pairsOf } from './q4-dot'
import { scaledBy, sumsOf } from './scales'

/** Bits that a code of 4, 5 or 6 has beside four: T is i8, i16 or i32. */
function further<T>(): i32 {
  return sizeof<T>() >> 1
}

/** Eight factors times the scales of their rows. */
function timesLow(factors: v128, scales: usize): v128 {
  return f32x4.mul(f32x4.convert_i32x4_s(i32x4.extend_low_i16x8_s(factors)), v128.load(scales))
}

function timesHigh(factors: v128, scales: usize): v128 {
  return f32x4.mul(f32x4.convert_i32x4_s(i32x4.extend_high_i16x8_s(factors)), v128.load(scales, 16))
}

/** In a block that lies as `gather` leaves it, or as `unfold` does. */
function runsOf<L>(): i32 {
  return sizeof<L>() === 8 ? 8 : 1
}

/**
 * Codes of 4, 5 or 6 bits, in runs of one share or two (S: i8, i16), with unfolded scales, beside which leasts stand or not
 * (L: i16, i8), or with gathered ones (i64): compilers keep sums in registers only where they know how long loops are.
 * Products are added up by fours (P: i8) or by pairs (i16).
 * `sums`: what eight rows begin with, and come to.
 */
export function oneToken<T, S, L, P>(codes: usize, scales: usize, x: usize, runs: i32, zeros: i32, sums: usize): void {
  const shares: i32 = sizeof<S>()
  const zero = i16x8.splat(<i16>zeros)
  let low = v128.load(sums)
  let high = v128.load(sums, 16)
  const m = v128.load_splat<i32>(x, 8)
  const m4 = i16x8.shl(m, 4)
  const m8 = i16x8.shl(m, 8)
  // The further bits of a code, where they are put: made of what was loaded, as compilers load no constant but anew.
  const f = v128.and(m4, i16x8.shl(m, further<T>()))
  const f4 = i16x8.shl(f, 4)
  const f8 = i16x8.shl(f, 8)
  const ones = i16x8.shr_u(m, 11)
  const length = <usize>(shares === 1 ? 4 : 2) * X_STEP_BYTES
  for (let block = runs / runsOf<L>(); block > 0; block--) {
    const rowScales = scales
    if (runsOf<L>() > 1) scales += 32
    for (let run = 0; run < runsOf<L>(); run++) {
      const header = x
      x += X_HEADER_BYTES
      for (let share = 0; ; share++) {
        let a0 = i32x4.splat(0)
        if (runsOf<L>() === 1 || shares === 2) a0 = i32x4.dot_i16x8_s(sumsOf(header, shares, share), zero)
        let a1 = a0
        let g0 = a0
        let g1 = a0
        let p0 = i32x4.splat(0)
        let p1 = p0
        if (further<T>() > 0) {
          g0 = v128.load(codes)
          g1 = v128.load(codes, 16)
          codes += WORDS_BYTES
        }
        for (const end = x + length; x < end; x += X_STEP_BYTES) {
          const w0 = v128.load(codes)
          const w1 = v128.load(codes, 16)
          codes += WORDS_BYTES
          if (ASC_FEATURE_RELAXED_SIMD) {
            let c0 = v128.and(w0, m)
            let c1 = v128.and(w1, m)
            if (further<T>() > 0) {
              c0 = v128.or(c0, v128.and(i16x8.shl(g0, 4), f))
              c1 = v128.or(c1, v128.and(i16x8.shl(g1, 4), f))
            }
            let e = v128.load_splat<i32>(x)
            if (sizeof<P>() === 1) {
              a0 = dot(c0, e, a0)
              a1 = dot(c1, e, a1)
            } else if (further<T>() > 0) {
              p0 = pairsOf(c0, e)
              p1 = pairsOf(c1, e)
            } else {
              p0 = i16x8.add(p0, pairsOf(c0, e))
              p1 = i16x8.add(p1, pairsOf(c1, e))
            }
            c0 = v128.and(i16x8.shr_u(w0, 4), m)
            c1 = v128.and(i16x8.shr_u(w1, 4), m)
            if (further<T>() > 0) {
              c0 = v128.or(c0, v128.and(g0, f))
              c1 = v128.or(c1, v128.and(g1, f))
            }
            e = v128.load_splat<i32>(x, 4)
            if (sizeof<P>() === 1) {
              a0 = dot(c0, e, a0)
              a1 = dot(c1, e, a1)
            } else {
              p0 = i16x8.add(p0, pairsOf(c0, e))
              p1 = i16x8.add(p1, pairsOf(c1, e))
              if (further<T>() > 0) {
                a0 = addPairs(p0, ones, a0)
                a1 = addPairs(p1, ones, a1)
              }
            }
          } else {
            const u0 = i16x8.shl(g0, 4)
            const u1 = i16x8.shl(g1, 4)
            let e = v128.load_splat<i32>(x)
            a0 = dot(further<T>() > 0 ? v128.or(v128.and(w0, m), v128.and(u0, f)) : v128.and(w0, m), e, a0)
            a1 = dot(further<T>() > 0 ? v128.or(v128.and(w1, m), v128.and(u1, f)) : v128.and(w1, m), e, a1)
            e = v128.load_splat<i32>(x, 4)
            a0 = dot(further<T>() > 0 ? v128.or(v128.and(w0, m4), v128.and(u0, f4)) : v128.and(w0, m4), e, a0)
            a1 = dot(further<T>() > 0 ? v128.or(v128.and(w1, m4), v128.and(u1, f4)) : v128.and(w1, m4), e, a1)
            e = v128.load_splat<i32>(x, 8)
            a0 = dot(further<T>() > 0 ? v128.or(v128.and(w0, m8), v128.and(u0, f8)) : v128.and(w0, m8), e, a0)
            a1 = dot(further<T>() > 0 ? v128.or(v128.and(w1, m8), v128.and(u1, f8)) : v128.and(w1, m8), e, a1)
            e = v128.load_splat<i32>(x, 12)
            const c0 = i16x8.shr_u(w0, 12)
            const c1 = i16x8.shr_u(w1, 12)
            a0 = dot(further<T>() > 0 ? v128.or(c0, v128.and(i16x8.shr_u(g0, 8), f)) : c0, e, a0)
            a1 = dot(further<T>() > 0 ? v128.or(c1, v128.and(i16x8.shr_u(g1, 8), f)) : c1, e, a1)
          }
          if (further<T>() > 0) {
            g0 = i32x4.shr_u(g0, further<T>())
            g1 = i32x4.shr_u(g1, further<T>())
          }
        }
        if (sizeof<P>() > 1 && further<T>() === 0) {
          a0 = addPairs(p0, ones, a0)
          a1 = addPairs(p1, ones, a1)
        }
        const by = v128.load_splat<f32>(header)
        if (runsOf<L>() > 1) {
          // Those of 8 bits have a sign.
          const factors = shares === 2 ? v128.load8x8_s(scales) : v128.load8x8_u(scales)
          low = scaledBy(a0, timesLow(factors, rowScales), by, low)
          high = scaledBy(a1, timesHigh(factors, rowScales), by, high)
          scales += 8
        } else {
          low = scaledBy(a0, v128.load(scales), by, low)
          high = scaledBy(a1, v128.load(scales, 16), by, high)
          scales += sizeof<L>() === 2 ? 64 : 32
        }
        if (shares === 1 || share === 1) break
      }
    }
  }
  v128.store(sums, low)
  v128.store(sums, high, 16)
}

/**
 * Of 8 bits: signed, with activations in 16 bits (T: i16), or cut in halves, with bytes (i8); P as above, or whole (i64), with
 * the `sign` that a machine's products of bytes take.
 */
export function oneTokenOfBytes<T, P>(
  codes: usize,
  scales: usize,
  x: usize,
  runs: i32,
  zeros: i32,
  flips: i32,
  sums: usize,
): void {
  const zero = i16x8.splat(<i16>zeros)
  const sign = i8x16.splat(<i8>flips)
  const m = v128.load_splat<i32>(x, 8)
  const upper = i16x8.splat(<i16>0xff00)
  const flip = i8x16.splat(BYTES_SIGN)
  const ones = i16x8.shr_u(m, 11)
  const sixteens = i16x8.shl(ones, 4)
  let low = f32x4.splat(0)
  let high = low
  for (let run = 0; run < runs; run++) {
    const header = x
    let a0 = i32x4.dot_i16x8_s(sumsOf(header, 1, 0), zero)
    let a1 = a0
    let h0 = i32x4.splat(0)
    let h1 = h0
    let p0 = h0
    let p1 = h0
    x += X_HEADER_BYTES
    for (const end = x + 4 * stepBytesOf<T>(); x < end; x += stepBytesOf<T>()) {
      let w0 = v128.load(codes)
      let w1 = v128.load(codes, 16)
      let w2 = v128.load(codes, 32)
      let w3 = v128.load(codes, 48)
      codes += 2 * WORDS_BYTES
      if (sizeof<P>() === 8) {
        let e = v128.load_splat<i32>(x)
        a0 = dotOf<T>(v128.xor(w0, sign), e, a0)
        a1 = dotOf<T>(v128.xor(w1, sign), e, a1)
        e = v128.load_splat<i32>(x, 4)
        a0 = dotOf<T>(v128.xor(w2, sign), e, a0)
        a1 = dotOf<T>(v128.xor(w3, sign), e, a1)
      } else if (sizeof<T>() === 1 && sizeof<P>() > 1) {
        let e = v128.load_splat<i32>(x)
        p0 = i16x8.add(p0, pairsOf(v128.and(w0, m), e))
        p1 = i16x8.add(p1, pairsOf(v128.and(w1, m), e))
        h0 = i16x8.add(h0, pairsOf(v128.and(i16x8.shr_u(w0, 4), m), e))
        h1 = i16x8.add(h1, pairsOf(v128.and(i16x8.shr_u(w1, 4), m), e))
        e = v128.load_splat<i32>(x, 4)
        p0 = i16x8.add(p0, pairsOf(v128.and(w2, m), e))
        p1 = i16x8.add(p1, pairsOf(v128.and(w3, m), e))
        h0 = i16x8.add(h0, pairsOf(v128.and(i16x8.shr_u(w2, 4), m), e))
        h1 = i16x8.add(h1, pairsOf(v128.and(i16x8.shr_u(w3, 4), m), e))
      } else if (sizeof<T>() === 1) {
        let e = v128.load_splat<i32>(x)
        a0 = dotOf<T>(v128.and(w0, m), e, a0)
        a1 = dotOf<T>(v128.and(w1, m), e, a1)
        h0 = dotOf<T>(v128.and(i16x8.shr_u(w0, 4), m), e, h0)
        h1 = dotOf<T>(v128.and(i16x8.shr_u(w1, 4), m), e, h1)
        e = v128.load_splat<i32>(x, 4)
        a0 = dotOf<T>(v128.and(w2, m), e, a0)
        a1 = dotOf<T>(v128.and(w3, m), e, a1)
        h0 = dotOf<T>(v128.and(i16x8.shr_u(w2, 4), m), e, h0)
        h1 = dotOf<T>(v128.and(i16x8.shr_u(w3, 4), m), e, h1)
      } else {
        if (BYTES_SIGN !== 0) {
          w0 = v128.xor(w0, flip)
          w1 = v128.xor(w1, flip)
          w2 = v128.xor(w2, flip)
          w3 = v128.xor(w3, flip)
        }
        let e = v128.load_splat<i32>(x)
        a0 = dotOf<T>(i16x8.shr_s(i16x8.shl(w0, 8), 8), e, a0)
        a1 = dotOf<T>(i16x8.shr_s(i16x8.shl(w1, 8), 8), e, a1)
        e = v128.load_splat<i32>(x, 4)
        a0 = dotOf<T>(i16x8.shr_s(i16x8.shl(w2, 8), 4), e, a0)
        a1 = dotOf<T>(i16x8.shr_s(i16x8.shl(w3, 8), 4), e, a1)
        e = v128.load_splat<i32>(x, 8)
        a0 = dotOf<T>(v128.and(w0, upper), e, a0)
        a1 = dotOf<T>(v128.and(w1, upper), e, a1)
        e = v128.load_splat<i32>(x, 12)
        a0 = dotOf<T>(i16x8.shr_s(w2, 8), e, a0)
        a1 = dotOf<T>(i16x8.shr_s(w3, 8), e, a1)
      }
    }
    if (sizeof<T>() === 1 && sizeof<P>() === 2) {
      a0 = addPairs(h0, sixteens, addPairs(p0, ones, a0))
      a1 = addPairs(h1, sixteens, addPairs(p1, ones, a1))
    } else if (sizeof<T>() === 1 && sizeof<P>() === 1) {
      a0 = i32x4.add(a0, i32x4.shl(h0, 4))
      a1 = i32x4.add(a1, i32x4.shl(h1, 4))
    }
    const by = v128.load_splat<f32>(header)
    low = scaledBy(a0, v128.load(scales), by, low)
    high = scaledBy(a1, v128.load(scales, 16), by, high)
    scales += 32
  }
  v128.store(sums, low)
  v128.store(sums, high, 16)
}
