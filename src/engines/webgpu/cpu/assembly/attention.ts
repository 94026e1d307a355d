/**
 * Attention over a paged cache: softmax(q K) V for one query, or for two that read the same keys and values, which are
 * loaded and widened once for both. A query's answer does not depend on the one beside it.
 */
import { CACHE_BLOCK, PAGE_BITS } from './abi'
import { LINE, PAGE, quarter, restored, scales4 } from './cache-page'
import { cap4 } from './elementwise'
import { exp4 } from './exp'

/** q times scale, and times what the keys' storage lacks. */
function scaleQuery<T>(q: usize, d: i32, scale: f32, out: usize): void {
  const by = restored<T>(f32x4.splat(scale))
  for (const end = q + ((<usize>d) << 2); q < end; q += 16) {
    v128.store(out, f32x4.mul(v128.load(q), by))
    out += 16
  }
}

/**
 * Positions `first` to `last` (not included) of the pages of one key head. `room`: the query, scaled, then the scores of
 * all positions, in whole pages, and of blocks as much again.
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
  room: usize,
): void {
  const from = pages + ((<usize>(first >> PAGE_BITS)) << 2)
  const end = pages + ((<usize>((last + PAGE - 1) >> PAGE_BITS)) << 2)
  const scores = room + ((<usize>d) << 2)
  scaleQuery<T>(q, d, scale, room)
  let s = scores
  for (let page = from; page < end; page += 4) {
    const at = keys + <usize>load<u32>(page) * keyPageBytes
    if (sizeof<T>() === 1) scoreBlocksOne(room, at, d, s)
    else scoreOne<T>(room, at, d, s)
    s += LINE
  }
  if (cap > 0) capScores(scores, s, cap)
  const inverse = softmax<T>(scores, s, first & (PAGE - 1), last - (first & ~(PAGE - 1)))
  let scales = values + ((<usize>d) << PAGE_BITS)
  for (let column = 0; column < d; column += 16) {
    if (sizeof<T>() === 1 && column % CACHE_BLOCK === 0) {
      scaleScores(scores, s, scales, valuePageBytes, from, s)
      scales += CACHE_BLOCK
    }
    weighOne<T>(sizeof<T>() === 1 ? s : scores, values, valuePageBytes, from, end, inverse, out, d - column)
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
  room: usize,
  roomGap: usize,
): void {
  const from = pages + ((<usize>(first >> PAGE_BITS)) << 2)
  const end = pages + ((<usize>((last + lastMore + PAGE - 1) >> PAGE_BITS)) << 2)
  const scores = room + ((<usize>d) << 2)
  scaleQuery<T>(q, d, scale, room)
  scaleQuery<T>(q + qGap, d, scale, room + roomGap)
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
  const inverse = softmax<T>(scores, s, before, count)
  const other = softmax<T>(scores + roomGap, s + roomGap, before + firstMore, count + lastMore)
  let scales = values + ((<usize>d) << PAGE_BITS)
  for (let column = 0; column < d; column += 16) {
    if (sizeof<T>() === 1 && column % CACHE_BLOCK === 0) {
      scaleScores(scores, s, scales, valuePageBytes, from, s)
      scaleScores(scores + roomGap, s + roomGap, scales, valuePageBytes, from, s + roomGap)
      scales += CACHE_BLOCK
    }
    weighTwo<T>(
      sizeof<T>() === 1 ? s : scores,
      roomGap,
      values,
      valuePageBytes,
      from,
      end,
      inverse,
      other,
      out,
      outGap,
      d - column,
    )
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

/** Of blocks: what each gives, times its scales. */
function scoreBlocksOne(q: usize, page: usize, d: i32, out: usize): void {
  let s0 = f32x4.splat(0)
  let s1 = s0
  let s2 = s0
  let s3 = s0
  let scales = page + ((<usize>d) << PAGE_BITS)
  for (const end = q + ((<usize>d) << 2); q < end; q += CACHE_BLOCK * 4) {
    scoreOne<i8>(q, page, CACHE_BLOCK, out)
    s0 = f32x4.add(s0, f32x4.mul(v128.load(out), scales4(scales, 0)))
    s1 = f32x4.add(s1, f32x4.mul(v128.load(out, 16), scales4(scales, 1)))
    s2 = f32x4.add(s2, f32x4.mul(v128.load(out, 32), scales4(scales, 2)))
    s3 = f32x4.add(s3, f32x4.mul(v128.load(out, 48), scales4(scales, 3)))
    page += CACHE_BLOCK << PAGE_BITS
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
  for (const end = q + ((<usize>d) << 2); q < end; q += CACHE_BLOCK * 4) {
    scoreTwo<i8>(q, gap, page, CACHE_BLOCK, out)
    let c = scales4(scales, 0)
    s0 = f32x4.add(s0, f32x4.mul(v128.load(out), c))
    t0 = f32x4.add(t0, f32x4.mul(v128.load(out + gap), c))
    c = scales4(scales, 1)
    s1 = f32x4.add(s1, f32x4.mul(v128.load(out, 16), c))
    t1 = f32x4.add(t1, f32x4.mul(v128.load(out + gap, 16), c))
    c = scales4(scales, 2)
    s2 = f32x4.add(s2, f32x4.mul(v128.load(out, 32), c))
    t2 = f32x4.add(t2, f32x4.mul(v128.load(out + gap, 32), c))
    c = scales4(scales, 3)
    s3 = f32x4.add(s3, f32x4.mul(v128.load(out, 48), c))
    t3 = f32x4.add(t3, f32x4.mul(v128.load(out + gap, 48), c))
    page += CACHE_BLOCK << PAGE_BITS
    scales += CACHE_BLOCK
  }
  putLine(out, s0, s1, s2, s3)
  putLine(out + gap, t0, t1, t2, t3)
}

/** Scores times the scales of a block's values, of which each position has one. */
function scaleScores(from: usize, end: usize, scales: usize, pageBytes: usize, pages: usize, out: usize): void {
  for (; from < end; from += LINE) {
    const line = scales + <usize>load<u32>(pages) * pageBytes
    for (let i = 0; i < 4; i++) {
      v128.store(out, f32x4.mul(v128.load(from + ((<usize>i) << 4)), scales4(line, i)))
      out += 16
    }
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
 * on. Returns 1 / their sum.
 */
function softmax<T>(from: usize, end: usize, before: i32, count: i32): v128 {
  for (let i = 0; i < before; i++) store<f32>(from + ((<usize>i) << 2), -Infinity)
  for (let p = from + ((<usize>count) << 2); p < end; p += 4) store<f32>(p, -Infinity)
  let most = v128.load(from)
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
  return f32x4.div(f32x4.splat(1), sum)
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
