/**
 * Codes of packed keys and values in a page, a function for each thing that differs by T: i8 for q8_0, u8 for q4_0. As
 * bytes, two codes that one product adds up stand side by side: of keys [d / 2][16 positions][2], of values
 * [d / 8][8][8][2 positions]. Those of q4_0, plus 8, share a byte with one of the same position: of keys two columns on,
 * [d / 4][16 positions][2], of values four, [d / 8][8][4][2 positions].
 */
import { CACHE_BLOCK, PAGE_BITS } from './abi'
import { ROUNDER } from './exp'

/** Whether values are kept in blocks of codes and a scale, not as numbers. */
export function isPacked<T>(): bool {
  return sizeof<T>() === 1
}

/** Of a page's codes, of so many columns of one head. */
export function codeBytes<T>(columns: i32): usize {
  return isSigned<T>() ? (<usize>columns) << PAGE_BITS : (<usize>columns) << (PAGE_BITS - 1)
}

/** Eight columns of a page's values, where each takes a byte. */
export const COLUMNS_BYTES: usize = 128

/** The greatest size in a block that has a scale which f16 can hold. */
export function mostOfBlock<T>(): f32 {
  return isSigned<T>() ? 65504 * 127 : 65504 * 8
}

/** What the codes of the block at `from` are multiples of; `most`: the greatest of its sizes. */
export function stepOf<T>(from: usize, most: f32): f32 {
  if (isSigned<T>()) return most / 127
  // The first of those with the greatest size decides the sign.
  for (const end = from + CACHE_BLOCK * 4; from < end; from += 4) {
    const value = load<f32>(from)
    if (Mathf.abs(value) === most) return value / -8
  }
  return 0
}

/** Four codes, each in the lowest byte of its lane. */
function codes4<T>(values: usize, inverse: v128): v128 {
  const steps = f32x4.mul(v128.load(values), inverse)
  if (isSigned<T>()) return f32x4.add(steps, f32x4.splat(ROUNDER))
  return i32x4.min_s(i32x4.trunc_sat_f32x4_s(f32x4.add(steps, f32x4.splat(8.5))), i32x4.splat(15))
}

/** Where the codes of a position begin: of a key, of a value. No byte has codes of two, which threads may write at once. */
export function keyPlace(slot: i32): usize {
  return (<usize>slot) << 1
}

export function valuePlace<T>(slot: i32): usize {
  return ((<usize>(slot >> 1)) << (isSigned<T>() ? 4 : 3)) + <usize>(slot & 1)
}

export function putKeyCodes<T>(to: usize, from: usize, inverse: v128): void {
  for (const end = from + CACHE_BLOCK * 4; from < end; from += 16) {
    const codes = codes4<T>(from, inverse)
    if (isSigned<T>()) {
      v128.store8_lane(to, codes, 0)
      v128.store8_lane(to, codes, 4, 1)
      v128.store8_lane(to, codes, 8, 2 << PAGE_BITS)
      v128.store8_lane(to, codes, 12, (2 << PAGE_BITS) + 1)
    } else {
      const two = v128.or(codes, i32x4.shl(v128.shuffle<i32>(codes, codes, 2, 3, 2, 3), 4))
      v128.store8_lane(to, two, 0)
      v128.store8_lane(to, two, 4, 1)
    }
    to += codeBytes<T>(4)
  }
}

export function putValueCodes<T>(to: usize, from: usize, inverse: v128): void {
  const step = isSigned<T>() ? 4 : 8
  for (let i: usize = 0; i < <usize>CACHE_BLOCK; i += step) {
    let codes = codes4<T>(from + (i << 2), inverse)
    if (!isSigned<T>()) codes = v128.or(codes, i32x4.shl(codes4<T>(from + (i << 2) + 16, inverse), 4))
    const at = to + (i >> 3) * codeBytes<T>(8) + ((i & 4) << 1)
    v128.store8_lane(at, codes, 0)
    v128.store8_lane(at, codes, 4, 2)
    v128.store8_lane(at, codes, 8, 4)
    v128.store8_lane(at, codes, 12, 6)
  }
}

/** Where the codes of a page's keys are as bytes: where they are kept, or in `room`. */
export function keyCodes<T>(at: usize, columns: i32, room: usize): usize {
  if (isSigned<T>()) return at
  let to = room
  for (const end = at + codeBytes<T>(columns); at < end; at += 32) {
    const first = v128.load(at)
    const next = v128.load(at, 16)
    v128.store(to, lowCodes(first))
    v128.store(to, lowCodes(next), 16)
    v128.store(to, highCodes(first), 32)
    v128.store(to, highCodes(next), 48)
    to += 64
  }
  return room
}

function lowCodes(pairs: v128): v128 {
  return i8x16.sub(v128.and(pairs, i8x16.splat(15)), i8x16.splat(8))
}

function highCodes(pairs: v128): v128 {
  return lowCodes(i16x8.shr_u(pairs, 4))
}

/** And those of eight columns of its values. */
export function valueCodes<T>(at: usize, room: usize): usize {
  if (isSigned<T>()) return at
  let to = room
  for (const end = at + codeBytes<T>(8); at < end; at += 16) {
    const pairs = v128.load(at)
    const low = lowCodes(pairs)
    const high = highCodes(pairs)
    v128.store(to, v128.shuffle<i64>(low, high, 0, 2))
    v128.store(to, v128.shuffle<i64>(low, high, 1, 3), 16)
    to += 32
  }
  return room
}
