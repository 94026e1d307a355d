/**
 * Attention over a paged cache: softmax(q K) V for one query, or for two that read the same keys and values, which are
 * loaded and widened once for both. A query's answer does not depend on the one beside it.
 *
 * Blocks of codes are multiplied as whole numbers of 16 bits, two of them in one product: with the query, and with the
 * weights of a page's positions, each rounded to 15 bits of the
 * greatest of its block or page. Their sums are exact.
 */
import { CACHE_BLOCK, PAGE_BITS } from './abi'
import { LINE, PAGE, quarter, restored, scales4 } from './cache-page'
import { cap4 } from './elementwise'
import { exp4, ROUNDER } from './exp'

/** q times scale, and times what the keys' storage lacks. */
function scaleQuery<T>(q: usize, d: i32, scale: f32, out: usize): void {
  const by = restored<T>(f32x4.splat(scale))
  for (const end = q + ((<usize>d) << 2); q < end; q += 16) {
    v128.store(out, f32x4.mul(v128.load(q), by))
    out += 16
  }
}

/** The greatest of 15 bits. */
const MOST: f32 = 32767

/** The greatest of four, in all of them; not a number where one is not. */
function greatest4(values: v128): v128 {
  const two = f32x4.max(values, v128.shuffle<i32>(values, values, 2, 3, 0, 1))
  return f32x4.max(two, v128.shuffle<i32>(two, two, 1, 0, 3, 2))
}

/** Eight values times `by`, rounded to 16 bits, as whole numbers side by side. */
function whole8(a: v128, b: v128, by: v128): v128 {
  const rounder = f32x4.splat(ROUNDER)
  return v128.shuffle<i16>(
    f32x4.add(f32x4.mul(a, by), rounder),
    f32x4.add(f32x4.mul(b, by), rounder),
    0,
    2,
    4,
    6,
    8,
    10,
    12,
    14,
  )
}

/** Bytes of a block of a query, and where in it stands what its whole numbers are multiples of. */
const QUERY_BLOCK: usize = CACHE_BLOCK * 4
const QUERY_MULTIPLE_OF: usize = CACHE_BLOCK * 2

/** q in 16 bits, block by block, and what each block's are multiples of, times `scale`. */
function wholeQuery(q: usize, d: i32, scale: f32, out: usize): void {
  for (const end = q + ((<usize>d) << 2); q < end; out += QUERY_BLOCK - QUERY_MULTIPLE_OF) {
    let peak = f32x4.abs(v128.load(q))
    for (let i: usize = 16; i < QUERY_BLOCK; i += 16) peak = f32x4.max(peak, f32x4.abs(v128.load(q + i)))
    peak = greatest4(peak)
    const by = f32x4.div(f32x4.splat(MOST), peak)
    for (const blockEnd = q + QUERY_BLOCK; q < blockEnd; q += 32) {
      v128.store(out, whole8(v128.load(q), v128.load(q, 16), by))
      out += 16
    }
    store<f32>(out, (f32x4.extract_lane(peak, 0) / MOST) * scale)
  }
}

/** q as the keys' storage is multiplied with it. */
function putQuery<T>(q: usize, d: i32, scale: f32, out: usize): void {
  if (sizeof<T>() === 1) wholeQuery(q, d, scale, out)
  else scaleQuery<T>(q, d, scale, out)
}

/**
 * Positions `first` to `last` (not included) of the pages of one key head. `sink`: a score that has its share and gives
 * nothing. `room`: the query, scaled, then the scores of all positions, in whole pages, and of blocks as much again.
 */
export function attendOne<T>(
  q: usize,
  out: usize,
  keys: usize,
  keyPageBytes: usize,
  values: usize,
  valuePageBytes: usize,
  pages: usize,
  first: i32,
  last: i32,
  d: i32,
  scale: f32,
  cap: f32,
  sink: f32,
  room: usize,
): void {
  const from = pages + ((<usize>(first >> PAGE_BITS)) << 2)
  const end = pages + ((<usize>((last + PAGE - 1) >> PAGE_BITS)) << 2)
  const scores = room + ((<usize>d) << 2)
  putQuery<T>(q, d, scale, room)
  let s = scores
  for (let page = from; page < end; page += 4) {
    const at = keys + <usize>load<u32>(page) * keyPageBytes
    if (sizeof<T>() === 1) scoreBlocksOne(room, at, d, s)
    else scoreOne<T>(room, at, d, s)
    s += LINE
  }
  if (cap > 0) capScores(scores, s, cap)
  const inverse = softmax<T>(scores, s, first & (PAGE - 1), last - (first & ~(PAGE - 1)), sink)
  let scales = values + ((<usize>d) << PAGE_BITS)
  for (let column = 0; column < d; column += 16) {
    if (sizeof<T>() === 1 && column % CACHE_BLOCK === 0) {
      wholeWeights(scores, s, scales, valuePageBytes, from, s)
      scales += CACHE_BLOCK
    }
    if (sizeof<T>() === 1) weighBlocksOne(s, values, valuePageBytes, from, end, inverse, out)
    else weighOne<T>(scores, values, valuePageBytes, from, end, inverse, out, d - column)
    values += 256 * sizeof<T>()
    out += LINE
  }
}

/** The same for a second query, `qGap`, `outGap` and `roomGap` bytes from the first, that sees `more` positions more. */
export function attendTwo<T>(
  q: usize,
  qGap: usize,
  out: usize,
  outGap: usize,
  keys: usize,
  keyPageBytes: usize,
  values: usize,
  valuePageBytes: usize,
  pages: usize,
  first: i32,
  last: i32,
  firstMore: i32,
  lastMore: i32,
  d: i32,
  scale: f32,
  cap: f32,
  sink: f32,
  otherSink: f32,
  room: usize,
  roomGap: usize,
): void {
  const from = pages + ((<usize>(first >> PAGE_BITS)) << 2)
  const end = pages + ((<usize>((last + lastMore + PAGE - 1) >> PAGE_BITS)) << 2)
  const scores = room + ((<usize>d) << 2)
  putQuery<T>(q, d, scale, room)
  putQuery<T>(q + qGap, d, scale, room + roomGap)
  let s = scores
  for (let page = from; page < end; page += 4) {
    const at = keys + <usize>load<u32>(page) * keyPageBytes
    if (sizeof<T>() === 1) scoreBlocksTwo(room, roomGap, at, d, s)
    else scoreTwo<T>(room, roomGap, at, d, s)
    s += LINE
  }
  if (cap > 0) {
    capScores(scores, s, cap)
    capScores(scores + roomGap, s + roomGap, cap)
  }
  const before = first & (PAGE - 1)
  const count = last - (first & ~(PAGE - 1))
  const inverse = softmax<T>(scores, s, before, count, sink)
  const other = softmax<T>(scores + roomGap, s + roomGap, before + firstMore, count + lastMore, otherSink)
  let scales = values + ((<usize>d) << PAGE_BITS)
  for (let column = 0; column < d; column += 16) {
    if (sizeof<T>() === 1 && column % CACHE_BLOCK === 0) {
      wholeWeights(scores, s, scales, valuePageBytes, from, s)
      wholeWeights(scores + roomGap, s + roomGap, scales, valuePageBytes, from, s + roomGap)
      scales += CACHE_BLOCK
    }
    if (sizeof<T>() === 1) {
      weighBlocksTwo(s, roomGap, values, valuePageBytes, from, end, inverse, other, out, outGap)
    } else weighTwo<T>(scores, roomGap, values, valuePageBytes, from, end, inverse, other, out, outGap, d - column)
    values += 256 * sizeof<T>()
    out += LINE
  }
}

function scoreOne<T>(q: usize, page: usize, d: i32, out: usize): void {
  let s0 = f32x4.splat(0)
  let s1 = s0
  let s2 = s0
  let s3 = s0
  for (const end = q + ((<usize>d) << 2); q < end; q += 4) {
    const e = v128.load_splat<f32>(q)
    s0 = f32x4.add(s0, f32x4.mul(e, quarter<T>(page, 0)))
    s1 = f32x4.add(s1, f32x4.mul(e, quarter<T>(page, 1)))
    s2 = f32x4.add(s2, f32x4.mul(e, quarter<T>(page, 2)))
    s3 = f32x4.add(s3, f32x4.mul(e, quarter<T>(page, 3)))
    page += 16 * sizeof<T>()
  }
  putLine(out, s0, s1, s2, s3)
}

function scoreTwo<T>(q: usize, gap: usize, page: usize, d: i32, out: usize): void {
  let s0 = f32x4.splat(0)
  let s1 = s0
  let s2 = s0
  let s3 = s0
  let t0 = s0
  let t1 = s0
  let t2 = s0
  let t3 = s0
  for (const end = q + ((<usize>d) << 2); q < end; q += 4) {
    const e = v128.load_splat<f32>(q)
    const f = v128.load_splat<f32>(q + gap)
    let k = quarter<T>(page, 0)
    s0 = f32x4.add(s0, f32x4.mul(e, k))
    t0 = f32x4.add(t0, f32x4.mul(f, k))
    k = quarter<T>(page, 1)
    s1 = f32x4.add(s1, f32x4.mul(e, k))
    t1 = f32x4.add(t1, f32x4.mul(f, k))
    k = quarter<T>(page, 2)
    s2 = f32x4.add(s2, f32x4.mul(e, k))
    t2 = f32x4.add(t2, f32x4.mul(f, k))
    k = quarter<T>(page, 3)
    s3 = f32x4.add(s3, f32x4.mul(e, k))
    t3 = f32x4.add(t3, f32x4.mul(f, k))
    page += 16 * sizeof<T>()
  }
  putLine(out, s0, s1, s2, s3)
  putLine(out + gap, t0, t1, t2, t3)
}

/** Of two lines of sixteen codes, pairs of what stands at the same place: of the first eight places, and the others. */
function firstPairs(line: v128, next: v128): v128 {
  return v128.shuffle<i8>(line, next, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
}

function lastPairs(line: v128, next: v128): v128 {
  return v128.shuffle<i8>(line, next, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
}

/** Of blocks: what each gives, times its scales and the query's. */
function scoreBlocksOne(q: usize, page: usize, d: i32, out: usize): void {
  let s0 = f32x4.splat(0)
  let s1 = s0
  let s2 = s0
  let s3 = s0
  let scales = page + ((<usize>d) << PAGE_BITS)
  for (const end = q + ((<usize>d) << 2); q < end; q += QUERY_BLOCK - QUERY_MULTIPLE_OF) {
    let n0 = i32x4.splat(0)
    let n1 = n0
    let n2 = n0
    let n3 = n0
    for (const blockEnd = q + QUERY_MULTIPLE_OF; q < blockEnd; q += 4) {
      const e = v128.load32_splat(q)
      const line = v128.load(page)
      const next = v128.load(page, 16)
      const first = firstPairs(line, next)
      const last = lastPairs(line, next)
      n0 = i32x4.add(n0, i32x4.dot_i16x8_s(i16x8.extend_low_i8x16_s(first), e))
      n1 = i32x4.add(n1, i32x4.dot_i16x8_s(i16x8.extend_high_i8x16_s(first), e))
      n2 = i32x4.add(n2, i32x4.dot_i16x8_s(i16x8.extend_low_i8x16_s(last), e))
      n3 = i32x4.add(n3, i32x4.dot_i16x8_s(i16x8.extend_high_i8x16_s(last), e))
      page += 32
    }
    const by = v128.load32_splat(q)
    s0 = f32x4.add(s0, f32x4.mul(f32x4.convert_i32x4_s(n0), f32x4.mul(scales4(scales, 0), by)))
    s1 = f32x4.add(s1, f32x4.mul(f32x4.convert_i32x4_s(n1), f32x4.mul(scales4(scales, 1), by)))
    s2 = f32x4.add(s2, f32x4.mul(f32x4.convert_i32x4_s(n2), f32x4.mul(scales4(scales, 2), by)))
    s3 = f32x4.add(s3, f32x4.mul(f32x4.convert_i32x4_s(n3), f32x4.mul(scales4(scales, 3), by)))
    scales += CACHE_BLOCK
  }
  putLine(out, s0, s1, s2, s3)
}

function scoreBlocksTwo(q: usize, gap: usize, page: usize, d: i32, out: usize): void {
  let s0 = f32x4.splat(0)
  let s1 = s0
  let s2 = s0
  let s3 = s0
  let t0 = s0
  let t1 = s0
  let t2 = s0
  let t3 = s0
  let scales = page + ((<usize>d) << PAGE_BITS)
  for (const end = q + ((<usize>d) << 2); q < end; q += QUERY_BLOCK - QUERY_MULTIPLE_OF) {
    let n0 = i32x4.splat(0)
    let n1 = n0
    let n2 = n0
    let n3 = n0
    let m0 = n0
    let m1 = n0
    let m2 = n0
    let m3 = n0
    for (const blockEnd = q + QUERY_MULTIPLE_OF; q < blockEnd; q += 4) {
      const e = v128.load32_splat(q)
      const f = v128.load32_splat(q + gap)
      const line = v128.load(page)
      const next = v128.load(page, 16)
      let pairs = firstPairs(line, next)
      let wide = i16x8.extend_low_i8x16_s(pairs)
      n0 = i32x4.add(n0, i32x4.dot_i16x8_s(wide, e))
      m0 = i32x4.add(m0, i32x4.dot_i16x8_s(wide, f))
      wide = i16x8.extend_high_i8x16_s(pairs)
      n1 = i32x4.add(n1, i32x4.dot_i16x8_s(wide, e))
      m1 = i32x4.add(m1, i32x4.dot_i16x8_s(wide, f))
      pairs = lastPairs(line, next)
      wide = i16x8.extend_low_i8x16_s(pairs)
      n2 = i32x4.add(n2, i32x4.dot_i16x8_s(wide, e))
      m2 = i32x4.add(m2, i32x4.dot_i16x8_s(wide, f))
      wide = i16x8.extend_high_i8x16_s(pairs)
      n3 = i32x4.add(n3, i32x4.dot_i16x8_s(wide, e))
      m3 = i32x4.add(m3, i32x4.dot_i16x8_s(wide, f))
      page += 32
    }
    const by = v128.load32_splat(q)
    const other = v128.load32_splat(q + gap)
    let c = scales4(scales, 0)
    s0 = f32x4.add(s0, f32x4.mul(f32x4.convert_i32x4_s(n0), f32x4.mul(c, by)))
    t0 = f32x4.add(t0, f32x4.mul(f32x4.convert_i32x4_s(m0), f32x4.mul(c, other)))
    c = scales4(scales, 1)
    s1 = f32x4.add(s1, f32x4.mul(f32x4.convert_i32x4_s(n1), f32x4.mul(c, by)))
    t1 = f32x4.add(t1, f32x4.mul(f32x4.convert_i32x4_s(m1), f32x4.mul(c, other)))
    c = scales4(scales, 2)
    s2 = f32x4.add(s2, f32x4.mul(f32x4.convert_i32x4_s(n2), f32x4.mul(c, by)))
    t2 = f32x4.add(t2, f32x4.mul(f32x4.convert_i32x4_s(m2), f32x4.mul(c, other)))
    c = scales4(scales, 3)
    s3 = f32x4.add(s3, f32x4.mul(f32x4.convert_i32x4_s(n3), f32x4.mul(c, by)))
    t3 = f32x4.add(t3, f32x4.mul(f32x4.convert_i32x4_s(m3), f32x4.mul(c, other)))
    scales += CACHE_BLOCK
  }
  putLine(out, s0, s1, s2, s3)
  putLine(out + gap, t0, t1, t2, t3)
}

/** Where a page's line of weights says what they are multiples of. */
const MULTIPLE_OF: usize = 32

/**
 * Scores times the scales of a block's values, of which each position has one: of each page in 16 bits, then what these
 * are multiples of. A page has its own, since the weights of many pages may be small beside one of another.
 */
function wholeWeights(from: usize, end: usize, scales: usize, pageBytes: usize, pages: usize, out: usize): void {
  for (; from < end; from += LINE) {
    const line = scales + <usize>load<u32>(pages) * pageBytes
    const w0 = f32x4.mul(v128.load(from), scales4(line, 0))
    const w1 = f32x4.mul(v128.load(from, 16), scales4(line, 1))
    const w2 = f32x4.mul(v128.load(from, 32), scales4(line, 2))
    const w3 = f32x4.mul(v128.load(from, 48), scales4(line, 3))
    const peak = greatest4(f32x4.max(f32x4.max(w0, w1), f32x4.max(w2, w3)))
    const by = f32x4.div(f32x4.splat(MOST), peak)
    v128.store(out, whole8(w0, w1, by))
    v128.store(out, whole8(w2, w3, by), 16)
    store<f32>(out, f32x4.extract_lane(peak, 0) / MOST, MULTIPLE_OF)
    out += LINE
    pages += 4
  }
}

function putLine(out: usize, s0: v128, s1: v128, s2: v128, s3: v128): void {
  v128.store(out, s0)
  v128.store(out, s1, 16)
  v128.store(out, s2, 32)
  v128.store(out, s3, 48)
}

function capScores(from: usize, end: usize, cap: f32): void {
  for (let p = from; p < end; p += 16) v128.store(p, cap4(v128.load(p), cap))
}

/**
 * Scores to e^(score - greatest) in place, times what the values' storage lacks; 0 for those before and from `count`
 * on. Returns 1 / their sum, that of `sink` included.
 */
function softmax<T>(from: usize, end: usize, before: i32, count: i32, sink: f32): v128 {
  for (let i = 0; i < before; i++) store<f32>(from + ((<usize>i) << 2), -Infinity)
  for (let p = from + ((<usize>count) << 2); p < end; p += 4) store<f32>(p, -Infinity)
  let most = f32x4.pmax(v128.load(from), f32x4.splat(sink))
  for (let p = from + 16; p < end; p += 16) most = f32x4.pmax(most, v128.load(p))
  most = f32x4.pmax(most, v128.shuffle<i32>(most, most, 2, 3, 0, 1))
  most = f32x4.pmax(most, v128.shuffle<i32>(most, most, 1, 0, 3, 2))
  let sum = f32x4.splat(0)
  for (let p = from; p < end; p += 16) {
    const e = exp4(f32x4.sub(v128.load(p), most))
    v128.store(p, restored<T>(e))
    sum = f32x4.add(sum, e)
  }
  sum = f32x4.add(sum, v128.shuffle<i32>(sum, sum, 2, 3, 0, 1))
  sum = f32x4.add(sum, v128.shuffle<i32>(sum, sum, 1, 0, 3, 2))
  return f32x4.div(f32x4.splat(1), f32x4.add(sum, exp4(f32x4.sub(f32x4.splat(sink), most))))
}

/** Sixteen columns of the answer, or the `columns` that are left. */
function weighOne<T>(
  scores: usize,
  values: usize,
  pageBytes: usize,
  pages: usize,
  pagesEnd: usize,
  inverse: v128,
  out: usize,
  columns: i32,
): void {
  let o0 = f32x4.splat(0)
  let o1 = o0
  let o2 = o0
  let o3 = o0
  for (; pages < pagesEnd; pages += 4) {
    let p = values + <usize>load<u32>(pages) * pageBytes
    for (const end = scores + LINE; scores < end; scores += 4) {
      const e = v128.load_splat<f32>(scores)
      o0 = f32x4.add(o0, f32x4.mul(e, quarter<T>(p, 0)))
      o1 = f32x4.add(o1, f32x4.mul(e, quarter<T>(p, 1)))
      o2 = f32x4.add(o2, f32x4.mul(e, quarter<T>(p, 2)))
      o3 = f32x4.add(o3, f32x4.mul(e, quarter<T>(p, 3)))
      p += 16 * sizeof<T>()
    }
  }
  putColumns(out, o0, o1, o2, o3, inverse, columns)
}

function weighTwo<T>(
  scores: usize,
  gap: usize,
  values: usize,
  pageBytes: usize,
  pages: usize,
  pagesEnd: usize,
  inverse: v128,
  other: v128,
  out: usize,
  outGap: usize,
  columns: i32,
): void {
  let o0 = f32x4.splat(0)
  let o1 = o0
  let o2 = o0
  let o3 = o0
  let u0 = o0
  let u1 = o0
  let u2 = o0
  let u3 = o0
  for (; pages < pagesEnd; pages += 4) {
    let p = values + <usize>load<u32>(pages) * pageBytes
    for (const end = scores + LINE; scores < end; scores += 4) {
      const e = v128.load_splat<f32>(scores)
      const f = v128.load_splat<f32>(scores + gap)
      let v = quarter<T>(p, 0)
      o0 = f32x4.add(o0, f32x4.mul(e, v))
      u0 = f32x4.add(u0, f32x4.mul(f, v))
      v = quarter<T>(p, 1)
      o1 = f32x4.add(o1, f32x4.mul(e, v))
      u1 = f32x4.add(u1, f32x4.mul(f, v))
      v = quarter<T>(p, 2)
      o2 = f32x4.add(o2, f32x4.mul(e, v))
      u2 = f32x4.add(u2, f32x4.mul(f, v))
      v = quarter<T>(p, 3)
      o3 = f32x4.add(o3, f32x4.mul(e, v))
      u3 = f32x4.add(u3, f32x4.mul(f, v))
      p += 16 * sizeof<T>()
    }
  }
  putColumns(out, o0, o1, o2, o3, inverse, columns)
  putColumns(out + outGap, u0, u1, u2, u3, other, columns)
}

function weighBlocksOne(
  weights: usize,
  values: usize,
  pageBytes: usize,
  pages: usize,
  pagesEnd: usize,
  inverse: v128,
  out: usize,
): void {
  let o0 = f32x4.splat(0)
  let o1 = o0
  let o2 = o0
  let o3 = o0
  for (; pages < pagesEnd; pages += 4) {
    let p = values + <usize>load<u32>(pages) * pageBytes
    let n0 = i32x4.splat(0)
    let n1 = n0
    let n2 = n0
    let n3 = n0
    for (const end = weights + MULTIPLE_OF; weights < end; weights += 4) {
      const e = v128.load32_splat(weights)
      const line = v128.load(p)
      const next = v128.load(p, 16)
      const first = firstPairs(line, next)
      const last = lastPairs(line, next)
      n0 = i32x4.add(n0, i32x4.dot_i16x8_s(i16x8.extend_low_i8x16_s(first), e))
      n1 = i32x4.add(n1, i32x4.dot_i16x8_s(i16x8.extend_high_i8x16_s(first), e))
      n2 = i32x4.add(n2, i32x4.dot_i16x8_s(i16x8.extend_low_i8x16_s(last), e))
      n3 = i32x4.add(n3, i32x4.dot_i16x8_s(i16x8.extend_high_i8x16_s(last), e))
      p += 32
    }
    const by = v128.load32_splat(weights)
    o0 = f32x4.add(o0, f32x4.mul(f32x4.convert_i32x4_s(n0), by))
    o1 = f32x4.add(o1, f32x4.mul(f32x4.convert_i32x4_s(n1), by))
    o2 = f32x4.add(o2, f32x4.mul(f32x4.convert_i32x4_s(n2), by))
    o3 = f32x4.add(o3, f32x4.mul(f32x4.convert_i32x4_s(n3), by))
    weights += LINE - MULTIPLE_OF
  }
  putColumns(out, o0, o1, o2, o3, inverse, 16)
}

function weighBlocksTwo(
  weights: usize,
  gap: usize,
  values: usize,
  pageBytes: usize,
  pages: usize,
  pagesEnd: usize,
  inverse: v128,
  other: v128,
  out: usize,
  outGap: usize,
): void {
  let o0 = f32x4.splat(0)
  let o1 = o0
  let o2 = o0
  let o3 = o0
  let u0 = o0
  let u1 = o0
  let u2 = o0
  let u3 = o0
  for (; pages < pagesEnd; pages += 4) {
    let p = values + <usize>load<u32>(pages) * pageBytes
    let n0 = i32x4.splat(0)
    let n1 = n0
    let n2 = n0
    let n3 = n0
    let m0 = n0
    let m1 = n0
    let m2 = n0
    let m3 = n0
    for (const end = weights + MULTIPLE_OF; weights < end; weights += 4) {
      const e = v128.load32_splat(weights)
      const f = v128.load32_splat(weights + gap)
      const line = v128.load(p)
      const next = v128.load(p, 16)
      let pairs = firstPairs(line, next)
      let wide = i16x8.extend_low_i8x16_s(pairs)
      n0 = i32x4.add(n0, i32x4.dot_i16x8_s(wide, e))
      m0 = i32x4.add(m0, i32x4.dot_i16x8_s(wide, f))
      wide = i16x8.extend_high_i8x16_s(pairs)
      n1 = i32x4.add(n1, i32x4.dot_i16x8_s(wide, e))
      m1 = i32x4.add(m1, i32x4.dot_i16x8_s(wide, f))
      pairs = lastPairs(line, next)
      wide = i16x8.extend_low_i8x16_s(pairs)
      n2 = i32x4.add(n2, i32x4.dot_i16x8_s(wide, e))
      m2 = i32x4.add(m2, i32x4.dot_i16x8_s(wide, f))
      wide = i16x8.extend_high_i8x16_s(pairs)
      n3 = i32x4.add(n3, i32x4.dot_i16x8_s(wide, e))
      m3 = i32x4.add(m3, i32x4.dot_i16x8_s(wide, f))
      p += 32
    }
    let by = v128.load32_splat(weights)
    o0 = f32x4.add(o0, f32x4.mul(f32x4.convert_i32x4_s(n0), by))
    o1 = f32x4.add(o1, f32x4.mul(f32x4.convert_i32x4_s(n1), by))
    o2 = f32x4.add(o2, f32x4.mul(f32x4.convert_i32x4_s(n2), by))
    o3 = f32x4.add(o3, f32x4.mul(f32x4.convert_i32x4_s(n3), by))
    by = v128.load32_splat(weights + gap)
    u0 = f32x4.add(u0, f32x4.mul(f32x4.convert_i32x4_s(m0), by))
    u1 = f32x4.add(u1, f32x4.mul(f32x4.convert_i32x4_s(m1), by))
    u2 = f32x4.add(u2, f32x4.mul(f32x4.convert_i32x4_s(m2), by))
    u3 = f32x4.add(u3, f32x4.mul(f32x4.convert_i32x4_s(m3), by))
    weights += LINE - MULTIPLE_OF
  }
  putColumns(out, o0, o1, o2, o3, inverse, 16)
  putColumns(out + outGap, u0, u1, u2, u3, other, 16)
}

function putColumns(out: usize, o0: v128, o1: v128, o2: v128, o3: v128, factor: v128, columns: i32): void {
  putFour(out, f32x4.mul(o0, factor), columns)
  putFour(out + 16, f32x4.mul(o1, factor), columns - 4)
  putFour(out + 32, f32x4.mul(o2, factor), columns - 8)
  putFour(out + 48, f32x4.mul(o3, factor), columns - 12)
}

/** Heads have a multiple of four values. */
function putFour(out: usize, value: v128, columns: i32): void {
  if (columns > 0) v128.store(out, value)
}
