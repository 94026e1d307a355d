/**
 * A page of the cache holds 16 positions of every key and value head of one layer. Pages of a head lie behind one another,
 * so that memory is read in order. Keys stand as [d][16 positions], so that one product fills the scores of several
 * positions without sums across lanes; values as [d / 16][16 positions][16], so that 8 columns of the answers of several
 * queries stay in registers. T is how they are stored: f32; u16 for f16, of which each sixteen stand as 0 8 1 9 2 10 3 11 and
 * so on: the first eight come of two neighbouring vectors in the right order by the same steps, which V8's revectorizer joins,
 * and so do the others; or what stands for codes (`cache-codes.ts`), and behind all of a head the scales of its blocks,
 * [d / 32][16 positions], as f16 lies.
 */
import { CACHE_BLOCK, PAGE_BITS } from './abi'
import {
  codeBytes,
  isPacked,
  keyPlace,
  mostOfBlock,
  putKeyCodes,
  putValueCodes,
  stepOf,
  valuePlace,
} from './cache-codes'
import { f32ToF16, fitHalves, halves4 } from './half'

export const PAGE: i32 = 1 << PAGE_BITS
/** Sixteen f32. */
export const LINE: usize = 64
/** Of a page's keys, or values, of one head. */
export function keptBytes<T>(columns: i32): usize {
  if (isPacked<T>()) return codeBytes<T>(columns) + <usize>columns
  return ((<usize>columns) << PAGE_BITS) * sizeof<T>()
}

/** Where value `i` of a line of 16 stands. */
function placeOf<T>(i: i32): usize {
  if (sizeof<T>() === 4) return (<usize>i) << 2
  return ((<usize>(i & 7)) << 2) | ((<usize>(i >> 3)) << 1)
}

/** 2^112, in bits. */
const RESTORING = memory.data<u32>([0x77800000])

/** Halves are widened to 2^-112 of what they should be: what they are multiplied with makes up for it. Codes are not. */
export function restored<T>(value: v128): v128 {
  return sizeof<T>() === 2 ? f32x4.mul(value, v128.load32_splat(RESTORING)) : value
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
    putSixteen<T>(to, v + ((<usize>i) << 2), d - i)
    to += line << PAGE_BITS
  }
  return sizeof<T>() === 4 || (allFit(k - ((<usize>d) << 2), d) && allFit(v, d))
}

/** As `writeKeyValue`, in blocks of codes and a scale; `d` is a multiple of a block. */
export function writeBlocks<T>(k: usize, v: usize, keyHead: usize, valueHead: usize, slot: i32, d: i32): bool {
  const keyScales = keyHead + codeBytes<T>(d) + placeOf<u16>(slot)
  const valueScales = valueHead + codeBytes<T>(d) + placeOf<u16>(slot)
  let keys = keyHead + keyPlace(slot)
  let values = valueHead + valuePlace<T>(slot)
  let fit = true
  for (let i: usize = 0; i < <usize>d; i += CACHE_BLOCK) {
    let most = peakOf(k)
    if (!(most <= mostOfBlock<T>())) fit = false
    let step = stepOf<T>(k, most)
    store<u16>(keyScales + i, f32ToF16(step))
    putKeyCodes<T>(keys, k, inverseOf(step))
    most = peakOf(v)
    if (!(most <= mostOfBlock<T>())) fit = false
    step = stepOf<T>(v, most)
    store<u16>(valueScales + i, f32ToF16(step))
    putValueCodes<T>(values, v, inverseOf(step))
    k += CACHE_BLOCK * 4
    v += CACHE_BLOCK * 4
    keys += codeBytes<T>(CACHE_BLOCK)
    values += codeBytes<T>(CACHE_BLOCK)
  }
  return fit
}

/** The greatest size in a block; compared by their bits, among which infinities and NaN are the greatest. */
function peakOf(from: usize): f32 {
  let most = f32x4.abs(v128.load(from))
  for (let i: usize = 16; i < <usize>(CACHE_BLOCK * 4); i += 16) {
    most = i32x4.max_s(most, f32x4.abs(v128.load(from + i)))
  }
  most = i32x4.max_s(most, v128.shuffle<i32>(most, most, 2, 3, 0, 1))
  most = i32x4.max_s(most, v128.shuffle<i32>(most, most, 1, 0, 3, 2))
  return f32x4.extract_lane(most, 0)
}

/** What turns values into codes. Of steps so small that it would overflow, f16 holds none. */
function inverseOf(step: f32): v128 {
  return f32x4.splat(Mathf.abs(step) > 1e-37 ? 1 / step : 0)
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

/** Sixteen values, or, where fewer are `left`, these: four, eight or twelve. */
function putSixteen<T>(to: usize, from: usize, left: i32): void {
  if (sizeof<T>() === 4) {
    const end = from + ((<usize>min(left, 16)) << 2)
    for (; from < end; from += 16) {
      v128.store(to, v128.load(from))
      to += 16
    }
  } else {
    for (let i = 0; i < 8 && i < left; i += 4) {
      const halves = halves4(v128.load(from))
      v128.store(to, left - i > 8 ? v128.or(halves, i32x4.shl(halves4(v128.load(from, 32)), 16)) : halves)
      from += 16
      to += 16
    }
  }
}
