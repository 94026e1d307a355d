/** Brings ggml's blocks into the form of `blocks.ts`, bit by bit the same numbers. */
import {
  bitsOf,
  blockBytes,
  blockValues,
  GROUP,
  IQ4_XS,
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
import { blockGroupBytes, codesAt, ROW_BYTES, scaleBytes, stepAt, WORDS_BYTES } from './blocks'

/** Rows `from` to `to`, of which `source` has the first, into `w`, whose first row is row 0. */
export function packBlocks(kind: i32, source: usize, w: usize, from: i32, to: i32, k: i32): void {
  const blocks = k / blockValues(kind)
  const bytes = <usize>blockBytes(kind)
  const scales = scaleBytes(kind)
  const codes = <usize>(blockValues(kind) * bitsOf(kind))
  for (let row = from; row < to; row++) {
    const lane = <usize>(row % GROUP)
    let s = w + <usize>(row / GROUP) * <usize>blockGroupBytes(kind, k)
    let c = s + codesAt(kind, k) + lane * ROW_BYTES
    for (let i = 0; i < blocks; i++) {
      packBlock(kind, source, s, c, lane)
      source += bytes
      s += scales
      c += codes
    }
  }
}

function packBlock(kind: i32, p: usize, s: usize, c: usize, lane: usize): void {
  if (kind === Q4_K || kind === Q5_K) packK(p, s, c, lane, kind === Q5_K)
  else if (kind === Q6_K) pack6(p, s, c, lane)
  else if (kind === Q2_K) pack2(p, s, c, lane)
  else if (kind === Q3_K) pack3(p, s, c, lane)
  else if (kind === IQ4_XS) packXs(p, s, c, lane)
  else packSmall(kind, p, s, c, lane)
}

/** A block of 32: its scale, maybe its least value, maybe its fifth bits, its codes. */
function packSmall(kind: i32, p: usize, s: usize, c: usize, lane: usize): void {
  store<u16>(s + lane * 2, load<u16>(p))
  p += 2
  if (kind === Q4_1 || kind === Q5_1) {
    store<u16>(s + 16 + lane * 2, load<u16>(p))
    p += 2
  }
  if (kind === Q8_0) {
    // Bytes are multiplied with no sign where they are cut in halves.
    const sign: u32 = ASC_FEATURE_RELAXED_SIMD ? 0x80808080 : 0
    for (let word: usize = 0; word < 8; word++) store<u32>(c + word * WORDS_BYTES, load<u32>(p + word * 4) ^ sign)
    return
  }
  const five = kind === Q5_0 || kind === Q5_1
  if (five) {
    const bits = load<u32>(p)
    let word: u32 = 0
    for (let step = 0; step < 4; step++) word |= spread((bits >>> (8 * step)) & 255) << step
    store<u32>(c, word)
    p += 4
  }
  packSixteen(p, c, five ? 5 : 4)
}

/** 16 bytes: low nibbles are the first 16 values, high ones the others. */
function packSixteen(p: usize, c: usize, bits: i32): void {
  for (let i = 0; i < 2; i++) {
    const a = load<u32>(p)
    const b = load<u32>(p, 4)
    store<u32>(c + stepAt(bits, i), lows(a, b))
    store<u32>(c + stepAt(bits, i + 2), highs(a, b))
    p += 8
  }
}

/** 32 bytes: low nibbles are one run of 32 values, high ones another. */
function packThirtyTwo(p: usize, low: usize, high: usize, bits: i32): void {
  for (let i = 0; i < 4; i++) {
    const a = load<u32>(p)
    const b = load<u32>(p, 4)
    store<u32>(low + stepAt(bits, i), lows(a, b))
    store<u32>(high + stepAt(bits, i), highs(a, b))
    p += 8
  }
}

/** Q4_K and Q5_K: two factors for eight groups, 6 bits each, then the fifth bits, then nibbles. */
function packK(p: usize, s: usize, c: usize, lane: usize, five: bool): void {
  store<u16>(s + lane * 2, load<u16>(p))
  store<u16>(s + 16 + lane * 2, load<u16>(p, 2))
  const first = load<u32>(p, 4)
  const second = load<u32>(p, 8)
  const third = load<u32>(p, 12)
  const high = third >>> 4
  sixBits(s + 32, first & 0x3f3f3f3f, (third & 0x0f0f0f0f) | ((first >>> 2) & 0x30303030), lane)
  sixBits(s + 80, second & 0x3f3f3f3f, (high & 0x0f0f0f0f) | ((second >>> 2) & 0x30303030), lane)
  const run: usize = five ? 5 * WORDS_BYTES : 4 * WORDS_BYTES
  const nibbles = p + (five ? 48 : 16)
  for (let pair: usize = 0; pair < 4; pair++) {
    packThirtyTwo(nibbles + pair * 32, c + 2 * pair * run, c + (2 * pair + 1) * run, five ? 5 : 4)
  }
  if (!five) return
  for (let group: usize = 0; group < 8; group++) store<u32>(c + group * run, plane1(p + 16, <u32>group))
}

/**
 * Eight factors of 6 bits of a row, a byte each: those of groups 0 to 5, and in the bits that they leave those of groups 6
 * and 7, two bits in each pair.
 */
function sixBits(s: usize, groups0: u32, groups4: u32, lane: usize): void {
  for (let t: u32 = 0; t < 2; t++) {
    const last = groups4 >>> (16 + 8 * t)
    const to = s + t * 8 + lane
    store<u8>(to, ((groups0 >>> (8 * t)) & 63) | ((last & 3) << 6))
    store<u8>(to + 16, ((groups0 >>> (16 + 8 * t)) & 63) | (((last >>> 2) & 3) << 6))
    store<u8>(to + 32, ((groups4 >>> (8 * t)) & 63) | (((last >>> 4) & 3) << 6))
  }
}

/** Q6_K: low nibbles in two halves of 64 bytes, two high bits of each, 16 signed factors, the scale. */
function pack6(p: usize, s: usize, c: usize, lane: usize): void {
  store<u16>(s + lane * 2, load<u16>(p, 208))
  for (let group: usize = 0; group < 16; group++) store<u8>(s + 16 + group * 8 + lane, load<u8>(p + 192 + group))
  const run: usize = 6 * WORDS_BYTES
  for (let side: usize = 0; side < 2; side++) {
    const at = c + side * 4 * run
    packThirtyTwo(p + side * 64, at, at + 2 * run, 6)
    packThirtyTwo(p + side * 64 + 32, at + run, at + 3 * run, 6)
    for (let quarter: usize = 0; quarter < 4; quarter++) {
      for (let half: usize = 0; half < 2; half++) {
        const high = plane2(p + 128 + side * 32 + half * 16, <u32>quarter)
        store<u32>(at + quarter * run + half * 3 * WORDS_BYTES, high)
      }
    }
  }
}

/** Q2_K: 16 bytes of two factors each, 64 bytes of four codes, the two scales. */
function pack2(p: usize, s: usize, c: usize, lane: usize): void {
  store<u16>(s + lane * 2, load<u16>(p, 80))
  store<u16>(s + 16 + lane * 2, load<u16>(p, 82))
  for (let group: usize = 0; group < 16; group++) store<u8>(s + 32 + group * 8 + lane, load<u8>(p + group))
  twoBits(p + 16, c, 2 * WORDS_BYTES)
}

/** Q3_K: 32 bytes of third bits, 64 bytes of four codes, 16 factors of 6 bits, the scale. */
function pack3(p: usize, s: usize, c: usize, lane: usize): void {
  store<u16>(s + lane * 2, load<u16>(p, 108))
  const a = load<u32>(p, 96)
  const b = load<u32>(p, 100)
  const high = load<u32>(p, 104)
  sixBits(s + 16, join(a, high), join(b, high >>> 2), lane)
  sixBits(s + 64, join(a >>> 4, high >>> 4), join(b >>> 4, high >>> 6), lane)
  const run: usize = 3 * WORDS_BYTES
  for (let group: usize = 0; group < 8; group++) store<u32>(c + group * run, plane1(p, <u32>group))
  twoBits(p + 32, c + WORDS_BYTES, run)
}

function join(low: u32, high: u32): u32 {
  return (low & 0x0f0f0f0f) | ((high & 0x03030303) << 4)
}

/** 64 bytes with codes of four runs each. */
function twoBits(p: usize, c: usize, run: usize): void {
  for (let group: usize = 0; group < 8; group++) {
    const from = p + (group >> 2) * 32
    store<u32>(c + group * run, plane2(from, <u32>group & 3))
    store<u32>(c + group * run + WORDS_BYTES, plane2(from + 16, <u32>group & 3))
  }
}

/** IQ4_XS: the scale, 8 factors of 6 bits, codes by 16 bytes. */
function packXs(p: usize, s: usize, c: usize, lane: usize): void {
  store<u16>(s + lane * 2, load<u16>(p))
  const high = <u32>load<u16>(p, 2)
  const low = load<u32>(p, 4)
  let groups0: u32 = 0
  let groups4: u32 = 0
  for (let group: u32 = 0; group < 4; group++) {
    groups0 |= (((low >>> (4 * group)) & 15) | (((high >>> (2 * group)) & 3) << 4)) << (8 * group)
    groups4 |= (((low >>> (16 + 4 * group)) & 15) | (((high >>> (8 + 2 * group)) & 3) << 4)) << (8 * group)
  }
  sixBits(s + 16, groups0, groups4, lane)
  for (let group: usize = 0; group < 8; group++) packSixteen(p + 8 + group * 16, c + group * 4 * WORDS_BYTES, 4)
}

/** Low nibbles of 8 bytes as a word of a step. */
function lows(a: u32, b: u32): u32 {
  return (a & 0x0f0f0f0f) | ((b & 0x0f0f0f0f) << 4)
}

function highs(a: u32, b: u32): u32 {
  return ((a >>> 4) & 0x0f0f0f0f) | (b & 0xf0f0f0f0)
}

/** Bit `bit` of each of 32 bytes, in the order of nibbles. */
function plane1(p: usize, bit: u32): u32 {
  let word: u32 = 0
  for (let step: u32 = 0; step < 4; step++) {
    const a = (load<u32>(p) >>> bit) & 0x01010101
    const b = (load<u32>(p, 4) >>> bit) & 0x01010101
    word |= (a | (b << 4)) << step
    p += 8
  }
  return word
}

/** Bits `2 * quarter` and the next of each of 16 bytes. */
function plane2(p: usize, quarter: u32): u32 {
  const by = 2 * quarter
  const a = (load<u32>(p) >>> by) & 0x03030303
  const b = (load<u32>(p, 4) >>> by) & 0x03030303
  const c = (load<u32>(p, 8) >>> by) & 0x03030303
  const d = (load<u32>(p, 12) >>> by) & 0x03030303
  return a | (b << 4) | (c << 2) | (d << 6)
}

/** Eight bits, each to a nibble of its own, in the order of a step. */
function spread(bits: u32): u32 {
  return (((bits & 15) * 0x00204081) & 0x01010101) | ((((bits >>> 4) * 0x00204081) & 0x01010101) << 4)
}
