/**
 * Attention over a paged cache: softmax(q K) V for up to four queries that read the same keys and values, which are loaded
 * and widened once for all of them. A query's answer does not depend on those beside it.
 */
import { ATTEND_ROOM, CACHE_BLOCK, PAGE_BITS } from './abi'
import { scoreBlocks, weighBlocks, wholeQuery, wholeWeights } from './attention-blocks'
import { scaleQuery, scoreHalf, scoreWide, secondOf, weighHalf, weighWide } from './attention-numbers'
import { codeBytes, isPacked, keyCodes } from './cache-codes'
import { keptBytes, LINE, PAGE, restored } from './cache-page'
import { cap4 } from './elementwise'
import { Exponential, exp4 } from './exp'
import { countOf } from './together'

/** In a thread's room, first: of each query what its sum is divided by, in four lanes. */
const INVERSES: usize = 64

/**
 * N queries, `qGap` and `outGap` bytes from one another, over the pages of one key head. `firsts`: the first position that
 * each sees, or 0: all from the begin; `lasts`: the last; both `rowGap` bytes apart, and none before the first's or behind
 * the last's. `sinks`: scores that have their share and give nothing, `sinkGap` bytes apart, or 0. `room`: what stands above;
 * the queries, scaled, for which come the sums of values; then the scores of all positions, in whole pages, of each page one
 * query's behind the other's; then, of codes that take less than a byte, those of a page as bytes.
 */
export function attendTogether<T, N>(
  q: usize,
  qGap: usize,
  out: usize,
  outGap: usize,
  keys: usize,
  values: usize,
  pages: usize,
  firsts: usize,
  lasts: usize,
  rowGap: usize,
  d: i32,
  scale: f32,
  cap: f32,
  sinks: usize,
  sinkGap: usize,
  room: usize,
): void {
  const count = countOf<N>()
  const first = firsts === 0 ? 0 : load<i32>(firsts) & ~(PAGE - 1)
  const last = load<i32>(lasts + (count - 1) * rowGap)
  const from = pages + ((<usize>(first >> PAGE_BITS)) << 2)
  const end = pages + ((<usize>((last + PAGE) >> PAGE_BITS)) << 2)
  const sumsGap = (<usize>((d + 15) & ~15)) << 2
  const queries = room + ATTEND_ROOM
  const scores = queries + sumsGap * count
  const unpacked = scores + ((end - from) >> 2) * LINE * count
  for (let i: usize = 0; i < count; i++) {
    if (isPacked<T>()) wholeQuery<N>(q + i * qGap, d, scale, queries + (i << 2))
    else scaleQuery<T, N>(q + i * qGap, d, scale, queries + (i << 2))
  }
  let s = scores
  for (let page = from; page < end; page += 4) {
    const at = keys + <usize>load<u32>(page) * keptBytes<T>(d)
    if (isPacked<T>()) {
      const codes = keyCodes<T>(at, d, unpacked)
      const scales = at + codeBytes<T>(d)
      scoreBlocks<N, u8>(queries, codes, scales, d, s)
      scoreBlocks<N, u16>(queries, codes + 16, scales, d, s + 32)
    } else if (sizeof<N>() <= 2) scoreWide<T, N>(queries, at, d, s)
    else {
      scoreHalf<T, N, u8>(queries, at, d, s)
      scoreHalf<T, N, u16>(queries, secondOf<T>(at), d, s + 32)
    }
    s += LINE * count
  }
  if (cap > 0) capScores(scores, s, cap)
  for (let i: usize = 0; i < count; i++) {
    const before = firsts === 0 ? 0 : load<i32>(firsts + i * rowGap) - first
    const seen = load<i32>(lasts + i * rowGap) + 1 - first
    const sink: f32 = sinks === 0 ? -Infinity : load<f32>(sinks + i * sinkGap)
    const inverse = softmax<T>(scores + i * LINE, s, LINE * count, before, seen, sink)
    v128.store(room + (i << 4), inverse)
  }
  for (let p = queries; p < scores; p += 16) v128.store(p, i32x4.splat(0))
  weigh<T, N>(scores, values, from, end, d, queries, sumsGap, room + INVERSES, unpacked)
  for (let i: usize = 0; i < count; i++) {
    const inverse = v128.load(room + (i << 4))
    let sums = queries + i * sumsGap
    let to = out + i * outGap
    for (const toEnd = to + ((<usize>d) << 2); to < toEnd; to += 16) {
      v128.store(to, f32x4.mul(v128.load(sums), inverse))
      sums += 16
    }
  }
}

function capScores(from: usize, end: usize, cap: f32): void {
  for (let p = from; p < end; p += 16) v128.store(p, cap4(v128.load(p), cap))
}

/**
 * Scores to e^(score - greatest) in place, times what the values' storage lacks; 0 for those before and from `count`
 * on. Lines of sixteen are `gap` bytes apart. Returns 1 / their sum, that of `sink` included.
 */
function softmax<T>(from: usize, end: usize, gap: usize, before: i32, count: i32, sink: f32): v128 {
  const lines = (end - from + gap - 1) / gap
  for (let i = 0; i < before; i++) store<f32>(placeOf(from, gap, i), -Infinity)
  for (let i = count; i < <i32>(lines << PAGE_BITS); i++) store<f32>(placeOf(from, gap, i), -Infinity)
  let most = f32x4.splat(sink)
  for (let p = from; p < end; p += gap) {
    const two = f32x4.pmax(f32x4.pmax(v128.load(p), v128.load(p, 16)), f32x4.pmax(v128.load(p, 32), v128.load(p, 48)))
    most = f32x4.pmax(two, most)
  }
  most = f32x4.pmax(most, v128.shuffle<i32>(most, most, 2, 3, 0, 1))
  most = f32x4.pmax(most, v128.shuffle<i32>(most, most, 1, 0, 3, 2))
  let sum = f32x4.splat(0)
  for (let p = from; p < end; p += gap) {
    for (let eight = p; eight < p + LINE; eight += 32) {
      const e = Exponential.of4(f32x4.sub(v128.load(eight), most))
      const f = Exponential.of4(f32x4.sub(v128.load(eight, 16), most))
      const first = restored<T>(e)
      const next = restored<T>(f)
      v128.store(eight, first)
      v128.store(eight, next, 16)
      sum = f32x4.add(f32x4.add(sum, e), f)
    }
  }
  sum = f32x4.add(sum, v128.shuffle<i32>(sum, sum, 2, 3, 0, 1))
  sum = f32x4.add(sum, v128.shuffle<i32>(sum, sum, 1, 0, 3, 2))
  return f32x4.div(f32x4.splat(1), f32x4.add(sum, exp4(f32x4.sub(f32x4.splat(sink), most))))
}

/** Of position `i`. */
function placeOf(lines: usize, gap: usize, i: i32): usize {
  return lines + <usize>(i >> PAGE_BITS) * gap + ((<usize>(i & (PAGE - 1))) << 2)
}

/** Adds to the sums what the values of the pages come to, one after the other, as they lie in memory. */
function weigh<T, N>(
  scores: usize,
  values: usize,
  from: usize,
  end: usize,
  d: i32,
  sums: usize,
  sumsGap: usize,
  room: usize,
  unpacked: usize,
): void {
  const pageBytes = keptBytes<T>((d + 15) & ~15)
  for (let page = from; page < end; page += 4) {
    let p = values + <usize>load<u32>(page) * pageBytes
    const scales = p + codeBytes<T>(d)
    let sum = sums
    for (let column = 0; column < d; column += isPacked<T>() ? 8 : 16) {
      if (isPacked<T>()) {
        if (column % CACHE_BLOCK === 0) wholeWeights<N>(scores, scales + <usize>column, room)
        weighBlocks<T, N>(room, p, sum, sumsGap, unpacked)
        p += codeBytes<T>(8)
        sum += 32
      } else {
        if (sizeof<N>() <= 2) weighWide<T, N>(scores, p, sum, sumsGap)
        else {
          weighHalf<T, N, u8>(scores, p, sum, sumsGap)
          weighHalf<T, N, u16>(scores, secondOf<T>(p), sum + 32, sumsGap)
        }
        p += (16 << PAGE_BITS) * sizeof<T>()
        sum += LINE
      }
    }
    scores += LINE * countOf<N>()
  }
}
