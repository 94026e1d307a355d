/**
 * A page of the cache holds 16 positions of every key and value head of one layer: keys as [head][d][16], so that one
 * product fills the scores of 16 positions without sums across lanes; values as [head][d / 16][16 positions][16], so
 * that 16 columns of the answer stay in registers. T is how they are stored: f32, or u16 for f16, of which each eight
 * stand as 0 4 1 5 2 6 3 7: neighbours are widened into two vectors in the right order.
 */
import { PAGE_BITS } from './abi'
import { fitHalves, halves4, widenFirst, widenSecond } from './half'

export const PAGE: i32 = 1 << PAGE_BITS
/** Sixteen f32. */
export const LINE: usize = 64

/** Where value `i` of a line of 16 stands. */
function placeOf<T>(i: i32): usize {
  if (sizeof<T>() === 4) return (<usize>i) << 2
  return (<usize>((i & 8) | ((i & 3) << 1) | ((i >> 2) & 1))) << 1
}

/** Halves are widened to 2^-112 of what they should be: what they are multiplied with makes up for it. */
export function restored<T>(value: v128): v128 {
  return sizeof<T>() === 2 ? f32x4.mul(value, f32x4.splat(reinterpret<f32>((127 + 112) << 23))) : value
}

/** Four of the sixteen values of a line. */
export function quarter<T>(line: usize, index: i32): v128 {
  if (sizeof<T>() === 4) return v128.load(line + ((<usize>index) << 4))
  const halves = v128.load(line + ((<usize>(index >> 1)) << 4))
  return (index & 1) === 0 ? widenFirst(halves) : widenSecond(halves)
}

/**
 * Puts one position's key (already turned) and value of one head at `slot` of a page. `d` is a multiple of four. Returns
 * whether they could be stored as what they are.
 */
export function writeKeyValue<T>(k: usize, v: usize, keyHead: usize, valueHead: usize, slot: i32, d: i32): bool {
  const line = 16 * sizeof<T>()
  let to = keyHead + placeOf<T>(slot)
  for (const end = k + ((<usize>d) << 2); k < end; k += 16) {
    putColumn<T>(to, line, v128.load(k))
    to += line * 4
  }
  to = valueHead + <usize>slot * line
  for (let i = 0; i < d; i += 16) {
    putLine<T>(to, v + ((<usize>i) << 2), d - i)
    to += line * 16
  }
  return sizeof<T>() === 4 || (allFit(k - ((<usize>d) << 2), d) && allFit(v, d))
}

function allFit(from: usize, d: i32): bool {
  let fit = i32x4.splat(-1)
  for (const end = from + ((<usize>d) << 2); from < end; from += 16) fit = v128.and(fit, fitHalves(v128.load(from)))
  return i32x4.all_true(fit)
}

/**
 * Whether any of positions `first` to `last` (not included) holds what a half cannot. `overflows`: of each page, a bit
 * for each such slot.
 */
export function holdOverflow(overflows: usize, pages: usize, first: i32, last: i32): bool {
  const end = (last + PAGE - 1) >> PAGE_BITS
  for (let i = first >> PAGE_BITS; i < end; i++) {
    const page = <usize>load<u32>(pages + ((<usize>i) << 2))
    let slots = load<u32>(overflows + (page << 2))
    if (slots === 0) continue
    const start = i << PAGE_BITS
    if (first > start) slots &= <u32>(-1 << (first - start))
    if (last < start + PAGE) slots &= (1 << (last - start)) - 1
    if (slots !== 0) return true
  }
  return false
}

function putColumn<T>(to: usize, line: usize, values: v128): void {
  if (sizeof<T>() === 2) {
    const halves = halves4(values)
    v128.store16_lane(to, halves, 0)
    v128.store16_lane(to + line, halves, 2)
    v128.store16_lane(to + line * 2, halves, 4)
    v128.store16_lane(to + line * 3, halves, 6)
  } else {
    v128.store32_lane(to, values, 0)
    v128.store32_lane(to + line, values, 1)
    v128.store32_lane(to + line * 2, values, 2)
    v128.store32_lane(to + line * 3, values, 3)
  }
}

/** Sixteen values, or the `count` that are left. */
function putLine<T>(to: usize, from: usize, count: i32): void {
  for (let i = 0; i < min(count, 16); i += sizeof<T>() === 2 ? 8 : 4) {
    let values = v128.load(from)
    if (sizeof<T>() === 2) {
      values = halves4(values)
      if (count - i > 4) values = v128.or(values, i32x4.shl(halves4(v128.load(from, 16)), 16))
    }
    v128.store(to, values)
    to += 16
    from += sizeof<T>() === 2 ? 32 : 16
  }
}
