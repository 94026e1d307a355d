/**
 * Scores and sums of values that are kept in blocks of codes, for the queries that are attended together. Codes are
 * multiplied as whole numbers of 16 bits, two of them in one product: with the query, and with the weights of a page's
 * positions, each rounded to 15 bits of the greatest of its block or page. Their sums are exact.
 */
import { CACHE_BLOCK } from './abi'
import { COLUMNS_BYTES, valueCodes } from './cache-codes'
import { LINE, restored } from './cache-page'
import { ROUNDER } from './exp'
import { widenedBits, widenFirst, widenSecond } from './half'
import { countOf, putApart } from './together'

/** In the room that weights have, first: what those of each query are multiples of. */
const MULTIPLES: usize = 16
/** Then the weights themselves, in 16 bits, one query's behind the other's. */
const WHOLE_LINE: usize = 32

/** The greatest of 15 bits. */
const MOST: f32 = 32767

/** The greatest of four sizes, in all of them. By their bits, among which infinities and NaN are the greatest. */
function greatest4(values: v128): v128 {
  const two = i32x4.max_s(values, v128.shuffle<i32>(values, values, 2, 3, 0, 1))
  return i32x4.max_s(two, v128.shuffle<i32>(two, two, 1, 0, 3, 2))
}

/** Of each lane, the greater size. */
function larger(a: v128, b: v128): v128 {
  return i32x4.max_s(f32x4.abs(a), f32x4.abs(b))
}

/** Eight values times `by`, rounded to 16 bits, as whole numbers side by side. */
function whole8(a: v128, b: v128, by: v128): v128 {
  const rounder = f32x4.splat(ROUNDER)
  const low = f32x4.add(f32x4.mul(a, by), rounder)
  return v128.shuffle<i16>(low, f32x4.add(f32x4.mul(b, by), rounder), 0, 2, 4, 6, 8, 10, 12, 14)
}

/** q in 16 bits, of which pairs are what others' stand between; and behind each block what it is multiples of, times `scale`. */
export function wholeQuery<N>(q: usize, d: i32, scale: f32, out: usize): void {
  for (const end = q + ((<usize>d) << 2); q < end; out += countOf<N>() << 2) {
    let peak = f32x4.abs(v128.load(q))
    for (let i: usize = 16; i < <usize>(CACHE_BLOCK * 4); i += 16) peak = i32x4.max_s(peak, f32x4.abs(v128.load(q + i)))
    peak = greatest4(peak)
    const by = f32x4.div(f32x4.splat(MOST), peak)
    for (const blockEnd = q + CACHE_BLOCK * 4; q < blockEnd; q += 32) {
      out = putApart<N>(out, whole8(v128.load(q), v128.load(q, 16), by))
    }
    store<f32>(out, (f32x4.extract_lane(peak, 0) / MOST) * scale)
  }
}

/** Of four positions. */
function scales4<H>(at: usize, bits: v128): v128 {
  const halves = v128.load(at)
  return restored<u16>(sizeof<H>() === 1 ? widenFirst(halves, bits) : widenSecond(halves, bits))
}

/** Of blocks, eight positions (the second eight, if H is u16): what each gives, times its scales and the queries'. */
export function scoreBlocks<N, H>(q: usize, page: usize, scales: usize, d: i32, out: usize): void {
  let s0 = f32x4.splat(0)
  let s1 = s0
  let t0 = s0
  let t1 = s0
  let u0 = s0
  let u1 = s0
  let w0 = s0
  let w1 = s0
  for (let block = 0; block < d; block += CACHE_BLOCK) {
    let n0 = i32x4.splat(0)
    let n1 = n0
    let m0 = n0
    let m1 = n0
    let o0 = n0
    let o1 = n0
    let r0 = n0
    let r1 = n0
    for (const end = q + <usize>CACHE_BLOCK * countOf<N>() * 2; q < end; q += countOf<N>() << 2) {
      const k = v128.load8x8_s(page)
      const l = v128.load8x8_s(page, 8)
      let e = v128.load32_splat(q)
      n0 = i32x4.add(n0, i32x4.dot_i16x8_s(k, e))
      n1 = i32x4.add(n1, i32x4.dot_i16x8_s(l, e))
      if (sizeof<N>() > 1) {
        e = v128.load32_splat(q, 4)
        m0 = i32x4.add(m0, i32x4.dot_i16x8_s(k, e))
        m1 = i32x4.add(m1, i32x4.dot_i16x8_s(l, e))
      }
      if (sizeof<N>() > 2) {
        e = v128.load32_splat(q, 8)
        o0 = i32x4.add(o0, i32x4.dot_i16x8_s(k, e))
        o1 = i32x4.add(o1, i32x4.dot_i16x8_s(l, e))
      }
      if (sizeof<N>() > 4) {
        e = v128.load32_splat(q, 12)
        r0 = i32x4.add(r0, i32x4.dot_i16x8_s(k, e))
        r1 = i32x4.add(r1, i32x4.dot_i16x8_s(l, e))
      }
      page += 32
    }
    const bits = widenedBits()
    const c = scales4<H>(scales, bits)
    const g = scales4<H>(scales + 16, bits)
    let by = v128.load32_splat(q)
    s0 = f32x4.add(s0, f32x4.mul(f32x4.convert_i32x4_s(n0), f32x4.mul(c, by)))
    s1 = f32x4.add(s1, f32x4.mul(f32x4.convert_i32x4_s(n1), f32x4.mul(g, by)))
    if (sizeof<N>() > 1) {
      by = v128.load32_splat(q, 4)
      t0 = f32x4.add(t0, f32x4.mul(f32x4.convert_i32x4_s(m0), f32x4.mul(c, by)))
      t1 = f32x4.add(t1, f32x4.mul(f32x4.convert_i32x4_s(m1), f32x4.mul(g, by)))
    }
    if (sizeof<N>() > 2) {
      by = v128.load32_splat(q, 8)
      u0 = f32x4.add(u0, f32x4.mul(f32x4.convert_i32x4_s(o0), f32x4.mul(c, by)))
      u1 = f32x4.add(u1, f32x4.mul(f32x4.convert_i32x4_s(o1), f32x4.mul(g, by)))
    }
    if (sizeof<N>() > 4) {
      by = v128.load32_splat(q, 12)
      w0 = f32x4.add(w0, f32x4.mul(f32x4.convert_i32x4_s(r0), f32x4.mul(c, by)))
      w1 = f32x4.add(w1, f32x4.mul(f32x4.convert_i32x4_s(r1), f32x4.mul(g, by)))
    }
    q += countOf<N>() << 2
    scales += CACHE_BLOCK
  }
  v128.store(out, s0)
  v128.store(out, s1, 16)
  if (sizeof<N>() > 1) {
    v128.store(out, t0, 64)
    v128.store(out, t1, 80)
  }
  if (sizeof<N>() > 2) {
    v128.store(out, u0, 128)
    v128.store(out, u1, 144)
  }
  if (sizeof<N>() > 4) {
    v128.store(out, w0, 192)
    v128.store(out, w1, 208)
  }
}

/**
 * Scores times the scales of a block's values, of which each position has one: those of a page in 16 bits, and what these are
 * multiples of. A page has its own, since the weights of many pages may be small beside one of another.
 */
export function wholeWeights<N>(scores: usize, scales: usize, room: usize): void {
  const bits = widenedBits()
  const c0 = scales4<u8>(scales, bits)
  const c1 = scales4<u8>(scales + 16, bits)
  const c2 = scales4<u16>(scales, bits)
  const c3 = scales4<u16>(scales + 16, bits)
  let whole = room + MULTIPLES
  for (const end = room + (countOf<N>() << 2); room < end; room += 4) {
    const w0 = f32x4.mul(v128.load(scores), c0)
    const w1 = f32x4.mul(v128.load(scores, 16), c1)
    const w2 = f32x4.mul(v128.load(scores, 32), c2)
    const w3 = f32x4.mul(v128.load(scores, 48), c3)
    const peak = greatest4(i32x4.max_s(larger(w0, w1), larger(w2, w3)))
    store<f32>(room, f32x4.extract_lane(peak, 0) / MOST)
    const by = f32x4.div(f32x4.splat(MOST), peak)
    v128.store(whole, whole8(w0, w1, by))
    v128.store(whole, whole8(w2, w3, by), 16)
    scores += LINE
    whole += WHOLE_LINE
  }
}

/** Eight columns of a page's blocks. */
export function weighBlocks<T, N>(room: usize, values: usize, sums: usize, sumsGap: usize, unpacked: usize): void {
  let n0 = i32x4.splat(0)
  let n1 = n0
  let m0 = n0
  let m1 = n0
  let o0 = n0
  let o1 = n0
  let r0 = n0
  let r1 = n0
  let weights = room + MULTIPLES
  let p = valueCodes<T>(values, unpacked)
  for (const end = p + COLUMNS_BYTES; p < end; p += 16) {
    const v = v128.load8x8_s(p)
    const x = v128.load8x8_s(p, 8)
    let e = v128.load32_splat(weights)
    n0 = i32x4.add(n0, i32x4.dot_i16x8_s(v, e))
    n1 = i32x4.add(n1, i32x4.dot_i16x8_s(x, e))
    if (sizeof<N>() > 1) {
      e = v128.load32_splat(weights, WHOLE_LINE)
      m0 = i32x4.add(m0, i32x4.dot_i16x8_s(v, e))
      m1 = i32x4.add(m1, i32x4.dot_i16x8_s(x, e))
    }
    if (sizeof<N>() > 2) {
      e = v128.load32_splat(weights, WHOLE_LINE * 2)
      o0 = i32x4.add(o0, i32x4.dot_i16x8_s(v, e))
      o1 = i32x4.add(o1, i32x4.dot_i16x8_s(x, e))
    }
    if (sizeof<N>() > 4) {
      e = v128.load32_splat(weights, WHOLE_LINE * 3)
      r0 = i32x4.add(r0, i32x4.dot_i16x8_s(v, e))
      r1 = i32x4.add(r1, i32x4.dot_i16x8_s(x, e))
    }
    weights += 4
  }
  addMultiples(sums, n0, n1, v128.load32_splat(room))
  if (sizeof<N>() > 1) addMultiples(sums + sumsGap, m0, m1, v128.load32_splat(room, 4))
  if (sizeof<N>() > 2) addMultiples(sums + sumsGap * 2, o0, o1, v128.load32_splat(room, 8))
  if (sizeof<N>() > 4) addMultiples(sums + sumsGap * 3, r0, r1, v128.load32_splat(room, 12))
}

/** Loads before stores: V8's revectorizer joins no two between which something is stored. */
function addMultiples(sums: usize, a: v128, b: v128, by: v128): void {
  const first = f32x4.add(v128.load(sums), f32x4.mul(f32x4.convert_i32x4_s(a), by))
  const next = f32x4.add(v128.load(sums, 16), f32x4.mul(f32x4.convert_i32x4_s(b), by))
  v128.store(sums, first)
  v128.store(sums, next, 16)
}
