/**
 * What of a group of eight rows of blocks is read before its codes are multiplied: scales as f32, and codes of the forms
 * that have no product of their own in one that has.
 */
import {
  bitsOf,
  GROUP,
  MXFP4,
  runOf,
  SCALES_HALVES,
  SCALES_K4,
  SCALES_K6,
  SCALES_K6LEAST,
  SCALES_K8,
  SCALES_PAIRS,
  SCALES_POWERS,
  scalesOf,
  sharesOf,
  zeroOf,
} from './abi'
import { BYTES_SIGN, codesAt, ROW_BYTES, stepAt, WORDS_BYTES } from './blocks'
import { wideHigh, wideLow } from './scales'

/** Beside each scale stands what is taken off. */
export function hasLeast(kind: i32): bool {
  const scales = scalesOf(kind)
  return scales === SCALES_PAIRS || scales === SCALES_K4 || scales === SCALES_K6LEAST
}

/** Bytes of the scales of eight rows for one share of a run. */
export function shareBytes(kind: i32): usize {
  return hasLeast(kind) ? 64 : 32
}

/** The zero of codes in the form in which they are multiplied: signed bytes are, where they are halved, moved up. */
export function runZero(kind: i32): i32 {
  return runOf(kind) === 8 && ASC_FEATURE_RELAXED_SIMD ? 128 : zeroOf(kind)
}

/** Of codes that lie in the room, how many bytes after the scales of all runs they begin. */
function foldedCodes(kind: i32, k: i32): usize {
  return <usize>(k / 32) * <usize>sharesOf(kind) * shareBytes(kind)
}

/** Where the codes are after `unfold`, in the form of `runOf`. */
export function runsAt(kind: i32, group: usize, room: usize, k: i32): usize {
  return runOf(kind) === bitsOf(kind) ? group + codesAt(kind, k) : room + foldedCodes(kind, k)
}

/** Room for 8 rows that `unfold` leaves behind it. */
export function roomAfter(kind: i32, k: i32): usize {
  const unfolds = runOf(kind) !== bitsOf(kind)
  return foldedCodes(kind, k) + (unfolds ? <usize>(k / 32) * <usize>runOf(kind) * 32 : 0)
}

export function unfold(kind: i32, group: usize, room: usize, k: i32): void {
  const scales = scalesOf(kind)
  if (scales === SCALES_HALVES) halves(group, room, k / 32)
  else if (scales === SCALES_PAIRS) pairs(group, room, k / 32)
  else if (scales === SCALES_K6LEAST) sixLeast(group, room, k / 256)
  else if (scales === SCALES_K8) eight(group, room, k / 256)
  else if (scales === SCALES_K4) four(group, room, k / 256)
  else if (scales === SCALES_K6) six(group, room, k / 256, sharesOf(kind))
  else if (scales === SCALES_POWERS) powers(group, room, k / 32)
  const bits = bitsOf(kind)
  if (runOf(kind) === bits) return
  const codes = group + codesAt(kind, k)
  const to = runsAt(kind, group, room, k)
  if (bits === 4) steps(kind, codes, to, k / 32)
  else nibbles(codes, to, k / 32, bits === 3)
}

function halves(p: usize, out: usize, runs: i32): void {
  for (let i = 0; i < runs; i++) {
    const v = v128.load(p)
    v128.store(out, wideLow(v))
    v128.store(out, wideHigh(v), 16)
    p += 16
    out += 32
  }
}

/** Half of 2^(exponent - 127): the steps are doubled. */
function powers(p: usize, out: usize, runs: i32): void {
  for (let i = 0; i < runs; i++) {
    const exponents = v128.load8x8_u(p)
    v128.store(out, halfPower(i32x4.extend_low_i16x8_u(exponents)))
    v128.store(out, halfPower(i32x4.extend_high_i16x8_u(exponents)), 16)
    p += 8
    out += 32
  }
}

/** The least exponent is below what f32 writes with one. */
function halfPower(exponents: v128): v128 {
  const bits = i32x4.max_u(i32x4.shl(exponents, 23), i32x4.splat(1 << 22))
  return f32x4.mul(bits, f32x4.splat(0.5))
}

function pairs(p: usize, out: usize, runs: i32): void {
  for (let i = 0; i < runs; i++) {
    const v = v128.load(p)
    v128.store(out, wideLow(v))
    v128.store(out, wideHigh(v), 16)
    // What is added there is taken off here.
    const m = v128.load(p, 16)
    v128.store(out, f32x4.neg(wideLow(m)), 32)
    v128.store(out, f32x4.neg(wideHigh(m)), 48)
    p += 32
    out += 64
  }
}

/** Eight factors, in 16 bits, times the scales of their rows. */
function put(factors: v128, low: v128, high: v128, out: usize): void {
  v128.store(out, f32x4.mul(f32x4.convert_i32x4_s(i32x4.extend_low_i16x8_s(factors)), low))
  v128.store(out, f32x4.mul(f32x4.convert_i32x4_s(i32x4.extend_high_i16x8_s(factors)), high), 16)
}

/** Eight times eight factors of 6 bits, `stride` bytes apart when they are out; `zero`: of each. */
function sixty(p: usize, scales: v128, zero: i16, out: usize, stride: usize): void {
  const low = wideLow(scales)
  const high = wideHigh(scales)
  const a = v128.load(p)
  const b = v128.load(p, 16)
  const c = v128.load(p, 32)
  const mask = i8x16.splat(63)
  const off = i16x8.splat(zero)
  let v = v128.and(a, mask)
  for (let i = 0; i < 4; i++) {
    put(i16x8.sub(i16x8.extend_low_i8x16_u(v), off), low, high, out)
    put(i16x8.sub(i16x8.extend_high_i8x16_u(v), off), low, high, out + stride)
    out += 2 * stride
    if (i === 0) v = v128.and(b, mask)
    else if (i === 1) v = v128.and(c, mask)
    else v = v128.or(i8x16.shr_u(a, 6), v128.or(i8x16.shl(i8x16.shr_u(b, 6), 2), i8x16.shl(i8x16.shr_u(c, 6), 4)))
  }
}

function sixLeast(p: usize, out: usize, blocks: i32): void {
  for (let i = 0; i < blocks; i++) {
    const d = v128.load(p)
    const m = v128.load(p, 16)
    sixty(p + 32, d, 0, out, 64)
    sixty(p + 80, m, 0, out + 32, 64)
    p += 128
    out += 512
  }
}

function six(p: usize, out: usize, blocks: i32, sets: i32): void {
  for (let i = 0; i < blocks; i++) {
    const d = v128.load(p)
    p += 16
    for (let set = 0; set < sets; set++) {
      sixty(p, d, 32, out, 32)
      p += 48
      out += 256
    }
  }
}

function eight(p: usize, out: usize, blocks: i32): void {
  for (let i = 0; i < blocks; i++) {
    const d = v128.load(p)
    const low = wideLow(d)
    const high = wideHigh(d)
    p += 16
    for (let share = 0; share < 16; share++) {
      put(v128.load8x8_s(p), low, high, out)
      p += 8
      out += 32
    }
  }
}

function four(p: usize, out: usize, blocks: i32): void {
  for (let i = 0; i < blocks; i++) {
    const d = v128.load(p)
    const m = v128.load(p, 16)
    p += 32
    for (let share = 0; share < 16; share++) {
      const both = v128.load8x8_u(p)
      put(v128.and(both, i16x8.splat(15)), wideLow(d), wideHigh(d), out)
      put(i16x8.shr_u(both, 4), wideLow(m), wideHigh(m), out + 32)
      p += 8
      out += 64
    }
  }
}

/** Codes of 2 bits, and a third where they have one, as nibbles. */
function nibbles(p: usize, out: usize, runs: i32, three: bool): void {
  const twos = i32x4.splat(0x33333333)
  const ones = i32x4.splat(0x11111111)
  for (let run = 0; run < runs; run++) {
    for (let side: usize = 0; side < 32; side += 16) {
      let low = v128.load(p + side + (three ? WORDS_BYTES : 0))
      let third = v128.load(p + side)
      for (let step = 0; step < 4; step++) {
        if (step === 2) low = v128.load(p + side + (three ? 2 * WORDS_BYTES : WORDS_BYTES))
        let v = v128.and(low, twos)
        if (three) v = v128.or(v, i32x4.shl(v128.and(third, ones), 2))
        v128.store(out + side + stepAt(4, step), v)
        low = i32x4.shr_u(low, 2)
        third = i32x4.shr_u(third, 1)
      }
    }
    p += three ? 3 * WORDS_BYTES : 2 * WORDS_BYTES
    out += 4 * WORDS_BYTES
  }
}

/** Codes of 4 bits as the steps that they name: finer around zero, or those of E2M1, doubled. */
function steps(kind: i32, p: usize, out: usize, runs: i32): void {
  const named =
    kind === MXFP4
      ? i8x16(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12)
      : i8x16(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113)
  const table = v128.xor(named, i8x16.splat(BYTES_SIGN))
  const m = i8x16.splat(15)
  for (let run = 0; run < runs; run++) {
    for (let step = 0; step < 4; step++) {
      const a = v128.load(p)
      const b = v128.load(p, 16)
      v128.store(out, i8x16.swizzle(table, v128.and(a, m)))
      v128.store(out, i8x16.swizzle(table, v128.and(b, m)), 16)
      v128.store(out, i8x16.swizzle(table, i8x16.shr_u(a, 4)), 32)
      v128.store(out, i8x16.swizzle(table, i8x16.shr_u(b, 4)), 48)
      p += WORDS_BYTES
      out += 2 * WORDS_BYTES
    }
  }
}

/** Row `lane` of a group whose scales are unfolded, as f32, a value every `stride` bytes. */
export function blockRow(kind: i32, group: usize, room: usize, lane: i32, out: usize, stride: usize, k: i32): void {
  const bits = runOf(kind)
  const zero = runZero(kind)
  const shares = sharesOf(kind)
  const least = hasLeast(kind)
  const at = <usize>lane * ROW_BYTES
  let c = runsAt(kind, group, room, k) + at
  let s = room + at
  for (let run = 0; run < k / 32; run++) {
    for (let i = 0; i < 32; i++) {
      if (i === 16 && shares === 2) s += shareBytes(kind)
      const code = <f32>(codeOf(bits, c, i) - zero)
      store<f32>(out, code * load<f32>(s) - (least ? load<f32>(s, 32) : 0))
      out += stride
    }
    s += shareBytes(kind)
    c += <usize>bits * WORDS_BYTES
  }
}

/** `c` is the row's first word of a run. */
function codeOf(bits: i32, c: usize, i: i32): i32 {
  const step = i >> 3
  const t = i & 3
  const upper = (i >> 2) & 1
  const words = c + stepAt(bits, step)
  if (bits === 8) {
    const p = words + <usize>upper * WORDS_BYTES + <usize>t
    return ASC_FEATURE_RELAXED_SIMD ? <i32>load<u8>(p) : <i32>load<i8>(p)
  }
  const nibble = 8 * t + 4 * upper
  const low = (load<u32>(words) >>> nibble) & 15
  if (bits === 5) return low | (((load<u32>(c) >>> (nibble + step)) & 1) << 4)
  if (bits === 6) {
    const high = load<u32>(c + <usize>(step >> 1) * 3 * WORDS_BYTES) >>> (nibble + 2 * (step & 1))
    return low | ((high & 3) << 4)
  }
  return low
}

/** All rows of a group as f32, interleaved. */
export function blockGroup(kind: i32, group: usize, room: usize, out: usize, k: i32): void {
  unfold(kind, group, room, k)
  for (let lane = 0; lane < GROUP; lane++) {
    blockRow(kind, group, room, lane, out + <usize>lane * ROW_BYTES, GROUP * 4, k)
  }
}
