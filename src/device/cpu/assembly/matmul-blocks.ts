/**
 * The product of ggml's blocks with activations rounded to 8 bits per block of 32 columns. As in `matmul-q4.ts`, sums of a
 * share (16 or 32 columns that have a scale) are exact integers, and shares are added in order: a result depends neither
 * on how many tokens are multiplied together nor on how rows are shared among threads.
 */
import { BLOCK, GROUP, PAIRS, runOf, sharesOf, WHOLE, WIDE_BLOCKS } from './abi'
import { BYTES_SIGN, blockGroupBytes } from './blocks'
import { gather, gatheredBytes, isGathered, leastsOfSix, sizesOf } from './gather'
import { X_FACTOR } from './layout'
import { quadOfPairs, quadOfPlanes, quadOfWide, signBytes, unpackRuns, widenBytes } from './matmul-blocks-batch'
import { oneToken, oneTokenOfBytes } from './matmul-blocks-one'
import { dense1 } from './matmul-dense'
import { dot } from './q4-dot'
import { putEight, putQuad } from './rows'
import { leastsOfFour, leastsOfOne } from './scales'
import { blockGroup, hasLeast, roomAfter, runsAt, runZero, shareBytes, unfold } from './unfold'

/**
 * Groups `from` to `to`; `kind` may have `WIDE_BLOCKS`, `PAIRS` or `WHOLE`. `room`: as much as `blockRoom` of `block-kinds.ts`
 * says.
 */
export function multiplyBlocks(
  kind: i32,
  w: usize,
  x: usize,
  xStride: usize,
  y: usize,
  yStride: usize,
  from: i32,
  to: i32,
  n: i32,
  k: i32,
  tokens: i32,
  add: bool,
  room: usize,
): void {
  const wide = (kind & WIDE_BLOCKS) !== 0
  const pairs = (kind & PAIRS) !== 0
  const whole = ASC_FEATURE_RELAXED_SIMD && (kind & WHOLE) !== 0
  // Codes have no sign. A product that takes them for signed needs theirs, and then nothing stands for zero.
  const signed = whole && takesForSigned(x)
  const flips = signed ? BYTES_SIGN : 0
  kind &= WIDE_BLOCKS - 1
  const bits = runOf(kind)
  const shares = sharesOf(kind)
  const least = hasLeast(kind)
  const zeros = wide || signed ? 0 : -runZero(kind) * X_FACTOR
  const runs = k / BLOCK
  const quads = tokens & ~3
  const planes = room + roomAfter(kind, k)
  const starts = planes + <usize>runs * 512
  const sums = starts + 128
  const stride = shareBytes(kind)
  const gathered = isGathered(kind)
  const blocks = k / 256
  const leasts = room + <usize>blocks * gatheredBytes(shares)
  const sizes = leasts + 96
  for (let g = from; g < to; g++) {
    const group = w + <usize>g * <usize>blockGroupBytes(kind, k)
    if (quads > 0 || !gathered) unfold(kind, group, room, k)
    const codes = runsAt(kind, group, room, k)
    const rows = n - g * GROUP
    // Where nothing is taken off, the sums of four tokens begin with zero.
    if (quads > 0 && !least) memory.fill(starts, 0, 128)
    let xt = x
    let yt = y + ((<usize>(g * GROUP)) << 2)
    if (quads > 0) {
      if (wide) widenBytes(codes, planes, runs)
      else if (signed) signBytes(codes, planes, runs)
      else if (!whole) unpackRuns(bits, codes, planes, runs)
    }
    let t = 0
    for (; t < quads; t += 4) {
      if (wide || (!ASC_FEATURE_RELAXED_SIMD && bits === 8)) {
        quadOfWide(planes, room, xt, xStride, runs, sums)
      } else {
        if (least) leastsOfFour(room, xt, xStride, runs, shares, starts)
        if (!ASC_FEATURE_RELAXED_SIMD) {
          quadOfPlanes<i16, i8>(planes, room, xt, xStride, runs, shares, zeros, starts, stride, sums)
        } else if (whole) {
          const as = signed ? planes : codes
          quadOfPlanes<i8, i8>(as, room, xt, xStride, runs, shares, zeros, starts, stride, sums)
        } else if (bits === 8) {
          quadOfPlanes<i8, i16>(planes, room, xt, xStride, runs, shares, zeros, starts, stride, sums)
        } else if (!pairs) {
          quadOfPlanes<i8, i8>(planes, room, xt, xStride, runs, shares, zeros, starts, stride, sums)
        } else if (bits === 4) {
          quadOfPairs<i8>(planes, room, xt, xStride, runs, shares, zeros, starts, stride, sums)
        } else quadOfPairs<i16>(planes, room, xt, xStride, runs, shares, zeros, starts, stride, sums)
      }
      putQuad(sums, yt, yStride, rows, add)
      xt += xStride << 2
      yt += yStride << 2
    }
    if (gathered && t < tokens) gather(kind, group, room, k)
    for (; t < tokens; t++) {
      if (gathered && least) {
        if (g === from || tokens > 1) sizesOf(xt, sizes, runs)
        leastsOfSix(group, sizes, leasts + 32, leasts, blocks)
        v128.store(planes, f32x4.neg(v128.load(leasts)))
        v128.store(planes, f32x4.neg(v128.load(leasts, 16)), 16)
      } else if (least) leastsOfOne(room, xt, runs, shares, planes)
      else memory.fill(planes, 0, 32)
      if (whole) oneTokenOfBytes<i8, i64>(codes, room, xt, runs, zeros, flips, planes)
      else if (ASC_FEATURE_RELAXED_SIMD && pairs) {
        one<i16>(bits, wide, shares, least, gathered, codes, room, xt, runs, zeros, planes)
      } else one<i8>(bits, wide, shares, least, gathered, codes, room, xt, runs, zeros, planes)
      putEight(planes, yt, rows, add)
      xt += xStride
      yt += yStride
    }
  }
}

/** Whether the second factors of this machine's products of bytes have a sign. `x`: activations, as no constant is to be known. */
function takesForSigned(x: usize): bool {
  const m = v128.load_splat<i32>(x, 8)
  const ones = i8x16.shr_u(m, 3)
  const sum = dot(v128.or(m, i8x16.shl(m, 4)), ones, i32x4.splat(0))
  return i32x4.extract_lane(sum, 0) < 0
}

/** Products are added up by fours (P: i8) or by pairs (i16). */
function one<P>(
  bits: i32,
  wide: bool,
  shares: i32,
  least: bool,
  gathered: bool,
  codes: usize,
  scales: usize,
  x: usize,
  runs: i32,
  zeros: i32,
  sums: usize,
): void {
  if (bits === 8) {
    if (ASC_FEATURE_RELAXED_SIMD && !wide) oneTokenOfBytes<i8, P>(codes, scales, x, runs, zeros, 0, sums)
    else oneTokenOfBytes<i16, P>(codes, scales, x, runs, zeros, 0, sums)
  } else if (bits === 6) oneToken<i32, i16, i64, P>(codes, scales, x, runs, zeros, sums)
  else if (bits === 5) {
    if (gathered) oneToken<i16, i8, i64, P>(codes, scales, x, runs, zeros, sums)
    else if (least) oneToken<i16, i8, i16, P>(codes, scales, x, runs, zeros, sums)
    else oneToken<i16, i8, i8, P>(codes, scales, x, runs, zeros, sums)
  } else if (gathered) oneToken<i8, i8, i64, P>(codes, scales, x, runs, zeros, sums)
  else if (shares === 1) {
    if (least) oneToken<i8, i8, i16, P>(codes, scales, x, runs, zeros, sums)
    else oneToken<i8, i8, i8, P>(codes, scales, x, runs, zeros, sums)
  } else if (least) oneToken<i8, i16, i16, P>(codes, scales, x, runs, zeros, sums)
  else oneToken<i8, i16, i8, P>(codes, scales, x, runs, zeros, sums)
}

/** With activations as they are. `room`: that of `multiplyBlocks`, and a group of rows in f32. */
export function multiplyBlocksExact(
  kind: i32,
  w: usize,
  x: usize,
  xStride: usize,
  y: usize,
  yStride: usize,
  from: i32,
  to: i32,
  n: i32,
  k: i32,
  tokens: i32,
  add: bool,
  room: usize,
): void {
  const rows = room + roomAfter(kind, k)
  for (let g = from; g < to; g++) {
    blockGroup(kind, w + <usize>g * <usize>blockGroupBytes(kind, k), room, rows, k)
    const first = g * GROUP
    for (let t: usize = 0; t < <usize>tokens; t++) {
      dense1<f32>(rows, x + t * xStride, y + t * yStride + ((<usize>first) << 2), 0, 1, n - first, k, add)
    }
  }
}
