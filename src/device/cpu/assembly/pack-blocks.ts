/** Brings ggml's blocks into the form of `blocks.ts`, bit by bit the same numbers: scales of eight rows, codes of four at a time. */
import {
  bitsOf,
  blockBytes,
  blockValues,
  GROUP,
  IQ4_XS,
  MXFP4,
  Q2_K,
  Q3_K,
  Q4_1,
  Q4_K,
  Q5_0,
  Q5_1,
  Q5_K,
  Q6_K,
  Q8_0,
} from './abi'
import { blockGroupBytes, codesAt, scaleBytes, stepAt, WORDS_BYTES } from './blocks'
import { pairs, storeBytes, words } from './side-by-side'

/** Of the words of four rows. */
const QUAD_BYTES: usize = 16

export function packBlocks(kind: i32, source: usize, w: usize, from: i32, to: i32, k: i32): void {
  const blocks = k / blockValues(kind)
  const bytes = <usize>blockBytes(kind)
  const stride = <usize>blocks * bytes
  const scales = scaleBytes(kind)
  const codes = <usize>(blockValues(kind) * bitsOf(kind))
  for (let group = <usize>from; group < <usize>to; group++) {
    let p = source + group * GROUP * stride
    let s = w + group * <usize>blockGroupBytes(kind, k)
    let c = s + codesAt(kind, k)
    for (let i = 0; i < blocks; i++) {
      packScales(kind, p, stride, s)
      packCodes(kind, p, stride, c)
      packCodes(kind, p + 4 * stride, stride, c + QUAD_BYTES)
      p += bytes
      s += scales
      c += codes
    }
  }
}

/** Scales of eight rows. */
function packScales(kind: i32, p: usize, stride: usize, s: usize): void {
  if (kind === Q4_K || kind === Q5_K) scalesK(p, stride, s)
  else if (kind === Q6_K) scales6(p, stride, s)
  else if (kind === Q2_K) scales2(p, stride, s)
  else if (kind === Q3_K) scales3(p, stride, s)
  else if (kind === IQ4_XS) scalesXs(p, stride, s)
  else if (kind === MXFP4) storeBytes(s, p, stride)
  else {
    v128.store(s, pairs(p, stride))
    if (kind === Q4_1 || kind === Q5_1) v128.store(s, pairs(p + 2, stride), 16)
  }
}

/** Codes of four rows. */
function packCodes(kind: i32, p: usize, stride: usize, c: usize): void {
  if (kind === Q4_K || kind === Q5_K) packK(p, stride, c, kind === Q5_K)
  else if (kind === Q6_K) pack6(p, stride, c)
  else if (kind === Q2_K) twoBits(p + 16, stride, c, 2 * WORDS_BYTES)
  else if (kind === Q3_K) pack3(p, stride, c)
  else if (kind === IQ4_XS) packXs(p, stride, c)
  else packSmall(kind, p, stride, c)
}

/** A block of 32: behind its scale and maybe its least value, maybe its fifth bits, its codes. */
function packSmall(kind: i32, p: usize, stride: usize, c: usize): void {
  p += kind === Q4_1 || kind === Q5_1 ? 4 : kind === MXFP4 ? 1 : 2
  if (kind === Q8_0) {
    // Bytes are multiplied with no sign where they are cut in halves.
    const sign = i32x4.splat(ASC_FEATURE_RELAXED_SIMD ? 0x80808080 : 0)
    for (let word: usize = 0; word < 8; word++) {
      v128.store(c + word * WORDS_BYTES, v128.xor(words(p + word * 4, stride), sign))
    }
    return
  }
  const five = kind === Q5_0 || kind === Q5_1
  if (five) {
    const bits = words(p, stride)
    let word = i32x4.splat(0)
    for (let step = 0; step < 4; step++) word = v128.or(word, i32x4.shl(spread(i32x4.shr_u(bits, 8 * step)), step))
    v128.store(c, word)
    p += 4
  }
  packSixteen(p, stride, c, five ? 5 : 4)
}

/** 16 bytes: low nibbles are the first 16 values, high ones the others. */
function packSixteen(p: usize, stride: usize, c: usize, bits: i32): void {
  for (let i = 0; i < 2; i++) {
    const a = words(p, stride)
    const b = words(p + 4, stride)
    v128.store(c + stepAt(bits, i), lows(a, b))
    v128.store(c + stepAt(bits, i + 2), highs(a, b))
    p += 8
  }
}

/** 32 bytes: low nibbles are one run of 32 values, high ones another. */
function packThirtyTwo(p: usize, stride: usize, low: usize, high: usize, bits: i32): void {
  for (let i = 0; i < 4; i++) {
    const a = words(p, stride)
    const b = words(p + 4, stride)
    v128.store(low + stepAt(bits, i), lows(a, b))
    v128.store(high + stepAt(bits, i), highs(a, b))
    p += 8
  }
}

/** Q4_K and Q5_K: two factors for eight groups, 6 bits each, then the fifth bits, then nibbles. */
function scalesK(p: usize, stride: usize, s: usize): void {
  v128.store(s, pairs(p, stride))
  v128.store(s, pairs(p + 2, stride), 16)
  for (let quad: usize = 0; quad < 2; quad++) {
    const first = words(p + 4, stride)
    const second = words(p + 8, stride)
    const third = words(p + 12, stride)
    sixBits(s + 32, masked(first, 0x3f3f3f3f), v128.or(masked(third, 0x0f0f0f0f), bits(first, 2, 0x30303030)), quad)
    sixBits(s + 80, masked(second, 0x3f3f3f3f), v128.or(bits(third, 4, 0x0f0f0f0f), bits(second, 2, 0x30303030)), quad)
    p += 4 * stride
  }
}

function packK(p: usize, stride: usize, c: usize, five: bool): void {
  const run: usize = five ? 5 * WORDS_BYTES : 4 * WORDS_BYTES
  const nibbles = p + (five ? 48 : 16)
  for (let pair: usize = 0; pair < 4; pair++) {
    packThirtyTwo(nibbles + pair * 32, stride, c + 2 * pair * run, c + (2 * pair + 1) * run, five ? 5 : 4)
  }
  if (!five) return
  for (let group: usize = 0; group < 8; group++) v128.store(c + group * run, plane1(p + 16, stride, <i32>group))
}

/**
 * Eight factors of 6 bits of a row, a byte each: those of groups 0 to 5, and in the bits that they leave those of groups 6
 * and 7, two bits in each pair.
 */
function sixBits(s: usize, groups0: v128, groups4: v128, quad: usize): void {
  for (let t = 0; t < 2; t++) {
    const last = i32x4.shr_u(groups4, 16 + 8 * t)
    const to = s + ((<usize>t) << 3) + (quad << 2)
    storeLowest(to, bits(groups0, 8 * t, 63), last)
    storeLowest(to + 16, bits(groups0, 16 + 8 * t, 63), i32x4.shr_u(last, 2))
    storeLowest(to + 32, bits(groups4, 8 * t, 63), i32x4.shr_u(last, 4))
  }
}

/** A byte of each of four rows: six bits, and the lowest two of `high` above them. */
function storeLowest(to: usize, six: v128, high: v128): void {
  const bytes = v128.or(six, i32x4.shl(masked(high, 3), 6))
  v128.store32_lane(to, v128.shuffle<i8>(bytes, bytes, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12), 0)
}

/** Q6_K: low nibbles in two halves of 64 bytes, two high bits of each, 16 signed factors, the scale. */
function scales6(p: usize, stride: usize, s: usize): void {
  v128.store(s, pairs(p + 208, stride))
  for (let group: usize = 0; group < 16; group++) storeBytes(s + 16 + group * 8, p + 192 + group, stride)
}

function pack6(p: usize, stride: usize, c: usize): void {
  const run: usize = 6 * WORDS_BYTES
  for (let side: usize = 0; side < 2; side++) {
    const at = c + side * 4 * run
    packThirtyTwo(p + side * 64, stride, at, at + 2 * run, 6)
    packThirtyTwo(p + side * 64 + 32, stride, at + run, at + 3 * run, 6)
    for (let quarter: usize = 0; quarter < 4; quarter++) {
      for (let half: usize = 0; half < 2; half++) {
        const high = plane2(p + 128 + side * 32 + half * 16, stride, <i32>quarter)
        v128.store(at + quarter * run + half * 3 * WORDS_BYTES, high)
      }
    }
  }
}

/** Q2_K: 16 bytes of two factors each, 64 bytes of four codes, the two scales. */
function scales2(p: usize, stride: usize, s: usize): void {
  v128.store(s, pairs(p + 80, stride))
  v128.store(s, pairs(p + 82, stride), 16)
  for (let group: usize = 0; group < 16; group++) storeBytes(s + 32 + group * 8, p + group, stride)
}

/** Q3_K: 32 bytes of third bits, 64 bytes of four codes, 16 factors of 6 bits, the scale. */
function scales3(p: usize, stride: usize, s: usize): void {
  v128.store(s, pairs(p + 108, stride))
  for (let quad: usize = 0; quad < 2; quad++) {
    const a = words(p + 96, stride)
    const b = words(p + 100, stride)
    const high = words(p + 104, stride)
    sixBits(s + 16, joined(a, high, 0), joined(b, high, 2), quad)
    sixBits(s + 64, joined(i32x4.shr_u(a, 4), high, 4), joined(i32x4.shr_u(b, 4), high, 6), quad)
    p += 4 * stride
  }
}

/** Low nibbles, and the two bits `by` bits up in each byte of `high` above them. */
function joined(low: v128, high: v128, by: i32): v128 {
  return v128.or(masked(low, 0x0f0f0f0f), i32x4.shl(bits(high, by, 0x03030303), 4))
}

function pack3(p: usize, stride: usize, c: usize): void {
  const run: usize = 3 * WORDS_BYTES
  for (let group: usize = 0; group < 8; group++) v128.store(c + group * run, plane1(p, stride, <i32>group))
  twoBits(p + 32, stride, c + WORDS_BYTES, run)
}

/** 64 bytes with codes of four runs each. */
function twoBits(p: usize, stride: usize, c: usize, run: usize): void {
  for (let group: usize = 0; group < 8; group++) {
    const from = p + (group >> 2) * 32
    v128.store(c + group * run, plane2(from, stride, <i32>group & 3))
    v128.store(c + group * run + WORDS_BYTES, plane2(from + 16, stride, <i32>group & 3))
  }
}

/** IQ4_XS: the scale, 8 factors of 6 bits, codes by 16 bytes. */
function scalesXs(p: usize, stride: usize, s: usize): void {
  v128.store(s, pairs(p, stride))
  for (let quad: usize = 0; quad < 2; quad++) {
    const high = i32x4.shr_u(words(p, stride), 16)
    const low = words(p + 4, stride)
    let groups0 = i32x4.splat(0)
    let groups4 = groups0
    for (let group = 0; group < 4; group++) {
      const below = 4 * group
      const above = 2 * group
      const first = v128.or(bits(low, below, 15), i32x4.shl(bits(high, above, 3), 4))
      const second = v128.or(bits(low, 16 + below, 15), i32x4.shl(bits(high, 8 + above, 3), 4))
      groups0 = v128.or(groups0, i32x4.shl(first, 8 * group))
      groups4 = v128.or(groups4, i32x4.shl(second, 8 * group))
    }
    sixBits(s + 16, groups0, groups4, quad)
    p += 4 * stride
  }
}

function packXs(p: usize, stride: usize, c: usize): void {
  for (let group: usize = 0; group < 8; group++) packSixteen(p + 8 + group * 16, stride, c + group * 4 * WORDS_BYTES, 4)
}

function masked(words: v128, mask: u32): v128 {
  return v128.and(words, i32x4.splat(mask))
}

function bits(words: v128, by: i32, mask: u32): v128 {
  return masked(i32x4.shr_u(words, by), mask)
}

/** Low nibbles of 8 bytes as a word of a step. */
function lows(a: v128, b: v128): v128 {
  return v128.or(masked(a, 0x0f0f0f0f), i32x4.shl(masked(b, 0x0f0f0f0f), 4))
}

function highs(a: v128, b: v128): v128 {
  return v128.or(bits(a, 4, 0x0f0f0f0f), masked(b, 0xf0f0f0f0))
}

/** Bit `bit` of each of 32 bytes, in the order of nibbles. */
function plane1(p: usize, stride: usize, bit: i32): v128 {
  let word = i32x4.splat(0)
  for (let step = 0; step < 4; step++) {
    const a = bits(words(p, stride), bit, 0x01010101)
    const b = bits(words(p + 4, stride), bit, 0x01010101)
    word = v128.or(word, i32x4.shl(v128.or(a, i32x4.shl(b, 4)), step))
    p += 8
  }
  return word
}

/** Bits `2 * quarter` and the next of each of 16 bytes. */
function plane2(p: usize, stride: usize, quarter: i32): v128 {
  const by = 2 * quarter
  const a = bits(words(p, stride), by, 0x03030303)
  const b = bits(words(p + 4, stride), by, 0x03030303)
  const c = bits(words(p + 8, stride), by, 0x03030303)
  const d = bits(words(p + 12, stride), by, 0x03030303)
  return v128.or(v128.or(a, i32x4.shl(b, 4)), v128.or(i32x4.shl(c, 2), i32x4.shl(d, 6)))
}

/** The lowest eight bits, each to a nibble of its own, in the order of a step. */
function spread(bits: v128): v128 {
  return v128.or(spreadFour(bits), i32x4.shl(spreadFour(i32x4.shr_u(bits, 4)), 4))
}

function spreadFour(bits: v128): v128 {
  return masked(i32x4.mul(masked(bits, 15), i32x4.splat(0x00204081)), 0x01010101)
}
