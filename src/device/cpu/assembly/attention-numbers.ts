/** Scores and sums of values that are kept in f32 or in f16, for the queries that are attended together. */
import { LINE, restored } from './cache-page'
import { widenedBits, widenFirst, widenSecond } from './half'
import { countOf, putApart, putLine } from './together'

/** q times scale, and times what the keys' storage lacks; of N queries one value of each stands beside the others'. */
export function scaleQuery<T, N>(q: usize, d: i32, scale: f32, out: usize): void {
  const by = restored<T>(f32x4.splat(scale))
  for (const end = q + ((<usize>d) << 2); q < end; q += 16) {
    out = putApart<N>(out, f32x4.mul(v128.load(q), by))
  }
}

/** Of two neighbouring vectors of a line of sixteen both are widened alike, so that V8's revectorizer can join them. */
function first<T>(vector: v128, bits: v128): v128 {
  return sizeof<T>() === 4 ? vector : widenFirst(vector, bits)
}

function second<T>(vector: v128, bits: v128): v128 {
  return sizeof<T>() === 4 ? vector : widenSecond(vector, bits)
}

/** Four of a line, from the ninth on, or from the thirteenth on: of f16 they share a vector with those before. */
function ninth<T>(line: usize, vector: v128): v128 {
  return sizeof<T>() === 4 ? v128.load(line, 32) : vector
}

function thirteenth<T>(line: usize, vector: v128): v128 {
  return sizeof<T>() === 4 ? v128.load(line, 48) : vector
}

/** Eight of a line: the first four and the next; of the second eight, if H is u16. */
function eight4<T, H>(line: usize, bits: v128): v128 {
  if (sizeof<T>() === 4) return v128.load(line)
  return sizeof<H>() === 1 ? widenFirst(v128.load(line), bits) : widenSecond(v128.load(line), bits)
}

/** Where the second eight of a line of sixteen begin: halves share vectors with the first. */
export function secondOf<T>(line: usize): usize {
  return sizeof<T>() === 4 ? line + 32 : line
}

/** One query or two: sixteen positions. */
export function scoreWide<T, N>(q: usize, page: usize, d: i32, out: usize): void {
  const bits = widenedBits()
  let s0 = f32x4.splat(0)
  let s1 = s0
  let s2 = s0
  let s3 = s0
  let t0 = s0
  let t1 = s0
  let t2 = s0
  let t3 = s0
  for (const end = q + ((<usize>d * countOf<N>()) << 2); q < end; q += countOf<N>() << 2) {
    const e = v128.load_splat<f32>(q)
    const f = sizeof<N>() > 1 ? v128.load_splat<f32>(q, 4) : e
    const a = v128.load(page)
    const b = v128.load(page, 16)
    let k = first<T>(a, bits)
    let l = first<T>(b, bits)
    s0 = f32x4.add(s0, f32x4.mul(e, k))
    s1 = f32x4.add(s1, f32x4.mul(e, l))
    if (sizeof<N>() > 1) {
      t0 = f32x4.add(t0, f32x4.mul(f, k))
      t1 = f32x4.add(t1, f32x4.mul(f, l))
    }
    k = second<T>(ninth<T>(page, a), bits)
    l = second<T>(thirteenth<T>(page, b), bits)
    s2 = f32x4.add(s2, f32x4.mul(e, k))
    s3 = f32x4.add(s3, f32x4.mul(e, l))
    if (sizeof<N>() > 1) {
      t2 = f32x4.add(t2, f32x4.mul(f, k))
      t3 = f32x4.add(t3, f32x4.mul(f, l))
    }
    page += 16 * sizeof<T>()
  }
  putLine(out, s0, s1, s2, s3)
  if (sizeof<N>() > 1) putLine(out + LINE, t0, t1, t2, t3)
}

/** Three or four queries: eight positions, as registers hold no more sums; which, H says. */
export function scoreHalf<T, N, H>(q: usize, page: usize, d: i32, out: usize): void {
  const bits = widenedBits()
  let s0 = f32x4.splat(0)
  let s1 = s0
  let t0 = s0
  let t1 = s0
  let u0 = s0
  let u1 = s0
  let w0 = s0
  let w1 = s0
  for (const end = q + ((<usize>d * countOf<N>()) << 2); q < end; q += countOf<N>() << 2) {
    const k = eight4<T, H>(page, bits)
    const l = eight4<T, H>(page + 16, bits)
    let e = v128.load_splat<f32>(q)
    s0 = f32x4.add(s0, f32x4.mul(e, k))
    s1 = f32x4.add(s1, f32x4.mul(e, l))
    e = v128.load_splat<f32>(q, 4)
    t0 = f32x4.add(t0, f32x4.mul(e, k))
    t1 = f32x4.add(t1, f32x4.mul(e, l))
    e = v128.load_splat<f32>(q, 8)
    u0 = f32x4.add(u0, f32x4.mul(e, k))
    u1 = f32x4.add(u1, f32x4.mul(e, l))
    if (sizeof<N>() === 8) {
      e = v128.load_splat<f32>(q, 12)
      w0 = f32x4.add(w0, f32x4.mul(e, k))
      w1 = f32x4.add(w1, f32x4.mul(e, l))
    }
    page += 16 * sizeof<T>()
  }
  v128.store(out, s0)
  v128.store(out, s1, 16)
  v128.store(out, t0, 64)
  v128.store(out, t1, 80)
  v128.store(out, u0, 128)
  v128.store(out, u1, 144)
  if (sizeof<N>() === 8) {
    v128.store(out, w0, 192)
    v128.store(out, w1, 208)
  }
}

/** One query or two: sixteen columns of a page. */
export function weighWide<T, N>(scores: usize, p: usize, sums: usize, sumsGap: usize): void {
  const bits = widenedBits()
  let o0 = v128.load(sums)
  let o1 = v128.load(sums, 16)
  let o2 = v128.load(sums, 32)
  let o3 = v128.load(sums, 48)
  const other = sums + sumsGap
  let u0 = sizeof<N>() > 1 ? v128.load(other) : o0
  let u1 = sizeof<N>() > 1 ? v128.load(other, 16) : o0
  let u2 = sizeof<N>() > 1 ? v128.load(other, 32) : o0
  let u3 = sizeof<N>() > 1 ? v128.load(other, 48) : o0
  for (const end = scores + LINE; scores < end; scores += 4) {
    const e = v128.load_splat<f32>(scores)
    const f = sizeof<N>() > 1 ? v128.load_splat<f32>(scores, LINE) : e
    const a = v128.load(p)
    const b = v128.load(p, 16)
    let v = first<T>(a, bits)
    let x = first<T>(b, bits)
    o0 = f32x4.add(o0, f32x4.mul(e, v))
    o1 = f32x4.add(o1, f32x4.mul(e, x))
    if (sizeof<N>() > 1) {
      u0 = f32x4.add(u0, f32x4.mul(f, v))
      u1 = f32x4.add(u1, f32x4.mul(f, x))
    }
    v = second<T>(ninth<T>(p, a), bits)
    x = second<T>(thirteenth<T>(p, b), bits)
    o2 = f32x4.add(o2, f32x4.mul(e, v))
    o3 = f32x4.add(o3, f32x4.mul(e, x))
    if (sizeof<N>() > 1) {
      u2 = f32x4.add(u2, f32x4.mul(f, v))
      u3 = f32x4.add(u3, f32x4.mul(f, x))
    }
    p += 16 * sizeof<T>()
  }
  putLine(sums, o0, o1, o2, o3)
  if (sizeof<N>() > 1) putLine(other, u0, u1, u2, u3)
}

/**
 * Three or four queries: eight columns of a page; which, H says. A function of its own, as compilers that unroll a loop within another keep
 * fewer sums in registers.
 */
export function weighHalf<T, N, H>(scores: usize, p: usize, sums: usize, sumsGap: usize): void {
  const bits = widenedBits()
  const second = sums + sumsGap
  const third = second + sumsGap
  const fourth = sizeof<N>() === 8 ? third + sumsGap : third
  let s0 = v128.load(sums)
  let s1 = v128.load(sums, 16)
  let t0 = v128.load(second)
  let t1 = v128.load(second, 16)
  let u0 = v128.load(third)
  let u1 = v128.load(third, 16)
  let w0 = v128.load(fourth)
  let w1 = v128.load(fourth, 16)
  for (const end = scores + LINE; scores < end; scores += 4) {
    const v = eight4<T, H>(p, bits)
    const x = eight4<T, H>(p + 16, bits)
    let e = v128.load_splat<f32>(scores)
    s0 = f32x4.add(s0, f32x4.mul(e, v))
    s1 = f32x4.add(s1, f32x4.mul(e, x))
    e = v128.load_splat<f32>(scores, LINE)
    t0 = f32x4.add(t0, f32x4.mul(e, v))
    t1 = f32x4.add(t1, f32x4.mul(e, x))
    e = v128.load_splat<f32>(scores, LINE * 2)
    u0 = f32x4.add(u0, f32x4.mul(e, v))
    u1 = f32x4.add(u1, f32x4.mul(e, x))
    if (sizeof<N>() === 8) {
      e = v128.load_splat<f32>(scores, LINE * 3)
      w0 = f32x4.add(w0, f32x4.mul(e, v))
      w1 = f32x4.add(w1, f32x4.mul(e, x))
    }
    p += 16 * sizeof<T>()
  }
  v128.store(sums, s0)
  v128.store(sums, s1, 16)
  v128.store(second, t0)
  v128.store(second, t1, 16)
  v128.store(third, u0)
  v128.store(third, u1, 16)
  if (sizeof<N>() === 8) {
    v128.store(fourth, w0)
    v128.store(fourth, w1, 16)
  }
}
