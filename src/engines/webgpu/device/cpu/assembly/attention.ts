/**
 * Attention over a paged cache. A page holds 16 positions of every key and value head of one layer:
 * keys as [head][d][16], so that one product fills the scores of 16 positions without sums across lanes;
 * values as [head][d / 16][16 positions][16], so that 16 columns of the answer stay in registers.
 * T is how they are stored: f32, or u16 for f16.
 */
import { exp4 } from './exp'
import { f32ToF16, widenHigh, widenLow } from './half'

const PAGE_BITS: i32 = 4
const PAGE: i32 = 1 << PAGE_BITS
/** One line of 16 f32. */
const LINE: usize = 64

function put<T>(to: usize, value: f32): void {
  if (sizeof<T>() === 2) store<u16>(to, f32ToF16(value))
  else store<f32>(to, value)
}

/** Widened halves are 2^-112 of what they should be: what they are multiplied with makes up for it. */
function multiplier<T>(p: usize): v128 {
  const value = v128.load_splat<f32>(p)
  return sizeof<T>() === 2 ? f32x4.mul(value, f32x4.splat(reinterpret<f32>((127 + 112) << 23))) : value
}

/** Four of the sixteen values of a line. */
function quarter<T>(line: usize, index: i32): v128 {
  if (sizeof<T>() === 4) return v128.load(line + ((<usize>index) << 4))
  const halves = v128.load(line + ((<usize>(index >> 1)) << 4))
  return (index & 1) === 0 ? widenLow(halves) : widenHigh(halves)
}

/** Puts one position's key (already turned) and value of one head at `slot` of a page. */
export function writeKeyValue<T>(k: usize, v: usize, keyHead: usize, valueHead: usize, slot: i32, d: i32): void {
  const line = 16 * sizeof<T>()
  let to = keyHead + <usize>slot * sizeof<T>()
  for (let i = 0; i < d; i++) {
    put<T>(to, load<f32>(k))
    k += 4
    to += line
  }
  for (let i = 0; i < d; i++) {
    put<T>(valueHead + <usize>((i >> 4) * 16 + slot) * line + <usize>(i & 15) * sizeof<T>(), load<f32>(v))
    v += 4
  }
}

/**
 * One head of one position: softmax(q K / scale) V over positions `first` to `last`. `pages` lists the pages of the
 * sequence in order; `scores` has room for all positions, rounded up to whole pages.
 */
export function attendHead<T>(
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
  scores: usize,
): void {
  const firstPage = first >> PAGE_BITS
  const endPage = (last + PAGE - 1) >> PAGE_BITS
  let s = scores
  for (let page = firstPage; page < endPage; page++) {
    scorePage<T>(q, keys + <usize>load<i32>(pages + ((<usize>page) << 2)) * keyPageBytes, d, scale, s)
    s += LINE
  }
  const before = first & (PAGE - 1)
  for (let i = 0; i < before; i++) store<f32>(scores + ((<usize>i) << 2), -Infinity)
  for (let p = scores + ((<usize>(last - (firstPage << PAGE_BITS))) << 2); p < s; p += 4) store<f32>(p, -Infinity)
  const inverse = f32x4.splat(softmax(scores, s))
  let column = 0
  for (let chunk: usize = 0; column < d; chunk += 256 * sizeof<T>()) {
    weigh<T>(
      scores,
      values + chunk,
      valuePageBytes,
      pages,
      firstPage,
      endPage,
      inverse,
      out + ((<usize>column) << 2),
      d - column,
    )
    column += 16
  }
}

function scorePage<T>(q: usize, page: usize, d: i32, scale: f32, out: usize): void {
  let s0 = f32x4.splat(0)
  let s1 = s0
  let s2 = s0
  let s3 = s0
  const end = q + ((<usize>d) << 2)
  for (; q < end; q += 4) {
    const e = multiplier<T>(q)
    s0 = f32x4.add(s0, f32x4.mul(e, quarter<T>(page, 0)))
    s1 = f32x4.add(s1, f32x4.mul(e, quarter<T>(page, 1)))
    s2 = f32x4.add(s2, f32x4.mul(e, quarter<T>(page, 2)))
    s3 = f32x4.add(s3, f32x4.mul(e, quarter<T>(page, 3)))
    page += 16 * sizeof<T>()
  }
  const f = f32x4.splat(scale)
  v128.store(out, f32x4.mul(s0, f))
  v128.store(out, f32x4.mul(s1, f), 16)
  v128.store(out, f32x4.mul(s2, f), 32)
  v128.store(out, f32x4.mul(s3, f), 48)
}

/** Scores to e^(score - greatest) in place; returns 1 / their sum. */
function softmax(from: usize, end: usize): f32 {
  let most = v128.load(from)
  for (let p = from + 16; p < end; p += 16) most = f32x4.max(most, v128.load(p))
  most = f32x4.max(most, v128.shuffle<i32>(most, most, 2, 3, 0, 1))
  most = f32x4.max(most, v128.shuffle<i32>(most, most, 1, 0, 3, 2))
  let sum = f32x4.splat(0)
  for (let p = from; p < end; p += 16) {
    const e = exp4(f32x4.sub(v128.load(p), most))
    v128.store(p, e)
    sum = f32x4.add(sum, e)
  }
  sum = f32x4.add(sum, v128.shuffle<i32>(sum, sum, 2, 3, 0, 1))
  sum = f32x4.add(sum, v128.shuffle<i32>(sum, sum, 1, 0, 3, 2))
  return 1 / f32x4.extract_lane(sum, 0)
}

/** Sixteen columns of the answer, or the `columns` that are left. */
function weigh<T>(
  scores: usize,
  values: usize,
  pageBytes: usize,
  pages: usize,
  firstPage: i32,
  endPage: i32,
  inverse: v128,
  out: usize,
  columns: i32,
): void {
  let o0 = f32x4.splat(0)
  let o1 = o0
  let o2 = o0
  let o3 = o0
  for (let page = firstPage; page < endPage; page++) {
    let p = values + <usize>load<i32>(pages + ((<usize>page) << 2)) * pageBytes
    const end = scores + LINE
    for (; scores < end; scores += 4) {
      const e = multiplier<T>(scores)
      o0 = f32x4.add(o0, f32x4.mul(e, quarter<T>(p, 0)))
      o1 = f32x4.add(o1, f32x4.mul(e, quarter<T>(p, 1)))
      o2 = f32x4.add(o2, f32x4.mul(e, quarter<T>(p, 2)))
      o3 = f32x4.add(o3, f32x4.mul(e, quarter<T>(p, 3)))
      p += 16 * sizeof<T>()
    }
  }
  putColumns(out, f32x4.mul(o0, inverse), columns)
  putColumns(out + 16, f32x4.mul(o1, inverse), columns - 4)
  putColumns(out + 32, f32x4.mul(o2, inverse), columns - 8)
  putColumns(out + 48, f32x4.mul(o3, inverse), columns - 12)
}

function putColumns(out: usize, value: v128, columns: i32): void {
  if (columns >= 4) {
    v128.store(out, value)
    return
  }
  for (; columns > 0; columns--) {
    store<f32>(out, f32x4.extract_lane(value, 0))
    out += 4
    value = v128.shuffle<i32>(value, value, 1, 2, 3, 0)
  }
}
