/**
 * Codes of packed keys and values in a page, a function for each thing that differs by T: i8 for q8_0. As bytes, two codes
 * that one product adds up stand side by side: of keys [d / 2][16 positions][2], of values [d / 8][8][8][2 positions].
 */
import { CACHE_BLOCK, PAGE_BITS } from './abi'
import { ROUNDER } from './exp'

/** Whether values are kept in blocks of codes and a scale, not as numbers. */
export function isPacked<T>(): bool {
  return sizeof<T>() === 1
}

/** Of a page's codes, of so many columns of one head. */
export function codeBytes<T>(columns: i32): usize {
  return (<usize>columns) << PAGE_BITS
}

/** Eight columns of a page's values, where each takes a byte. */
export const COLUMNS_BYTES: usize = 128

/** The greatest size in a block that has a scale which f16 can hold. */
export function mostOfBlock<T>(): f32 {
  return 65504 * 127
}

/** What the codes of the block at `from` are multiples of; `most`: the greatest of its sizes. */
export function stepOf<T>(_from: usize, most: f32): f32 {
  return most / 127
}

/** Four codes, each in the lowest byte of its lane. */
function codes4<T>(values: usize, inverse: v128): v128 {
  return f32x4.add(f32x4.mul(v128.load(values), inverse), f32x4.splat(ROUNDER))
}

/** Where the codes of a position begin: of a key, of a value. No byte has codes of two, which threads may write at once. */
export function keyPlace<T>(slot: i32): usize {
  return (<usize>slot) << 1
}

export function valuePlace<T>(slot: i32): usize {
  return ((<usize>(slot >> 1)) << 4) + <usize>(slot & 1)
}

export function putKeyCodes<T>(to: usize, from: usize, inverse: v128): void {
  for (const end = from + CACHE_BLOCK * 4; from < end; from += 16) {
    const codes = codes4<T>(from, inverse)
    v128.store8_lane(to, codes, 0)
    v128.store8_lane(to, codes, 4, 1)
    v128.store8_lane(to, codes, 8, 2 << PAGE_BITS)
    v128.store8_lane(to, codes, 12, (2 << PAGE_BITS) + 1)
    to += 4 << PAGE_BITS
  }
}

export function putValueCodes<T>(to: usize, from: usize, inverse: v128): void {
  for (let i: usize = 0; i < <usize>CACHE_BLOCK; i += 4) {
    const codes = codes4<T>(from + (i << 2), inverse)
    const at = to + (i >> 3) * COLUMNS_BYTES + ((i & 4) << 1)
    v128.store8_lane(at, codes, 0)
    v128.store8_lane(at, codes, 4, 2)
    v128.store8_lane(at, codes, 8, 4)
    v128.store8_lane(at, codes, 12, 6)
  }
}

/** Room for codes that do not take a byte each where they are kept: for those of a page's keys. */
export function unpackedBytes<T>(_columns: i32): usize {
  return 0
}

/** Where the codes of a page's keys are as bytes: where they are kept, or in `room`. */
export function keyCodes<T>(at: usize, _columns: i32, _room: usize): usize {
  return at
}

/** And those of eight columns of its values. */
export function valueCodes<T>(at: usize, _room: usize): usize {
  return at
}
