/**
 * What one token needs of the scales of eight rows of large blocks: of each block the scale of every row as f32, then
 * factors, a byte each. To widen these beside the products of codes costs next to nothing, and to read them all before
 * these, as they lie apart, saves waiting for memory.
 */
import { SCALES_K6LEAST, SCALES_K8, scalesOf } from './abi'
import { X_BLOCK_BYTES } from './layout'
import { sizeOf, wideHigh, wideLow } from './scales'

/** Whether `gather` knows the form. */
export function isGathered(kind: i32): bool {
  const scales = scalesOf(kind)
  return scales === SCALES_K6LEAST || scales === SCALES_K8
}

/** Bytes of a block in the room. */
export function gatheredBytes(shares: i32): usize {
  return 32 + 64 * <usize>shares
}

export function gather(kind: i32, group: usize, room: usize, k: i32): void {
  const blocks = k / 256
  if (scalesOf(kind) === SCALES_K6LEAST) {
    for (let i = 0; i < blocks; i++) {
      scalesOfRows(group, room)
      sixtyFour(group + 32, room + 32)
      group += 128
      room += gatheredBytes(1)
    }
    return
  }
  for (let i = 0; i < blocks; i++) {
    scalesOfRows(group, room)
    memory.copy(room + 32, group + 16, 128)
    group += 144
    room += gatheredBytes(2)
  }
}

function scalesOfRows(p: usize, out: usize): void {
  const v = v128.load(p)
  v128.store(out, wideLow(v))
  v128.store(out, wideHigh(v), 16)
}

/** Eight times eight factors of 6 bits. */
function sixtyFour(p: usize, out: usize): void {
  const a = v128.load(p)
  const b = v128.load(p, 16)
  const c = v128.load(p, 32)
  const mask = i8x16.splat(63)
  v128.store(out, v128.and(a, mask))
  v128.store(out, v128.and(b, mask), 16)
  v128.store(out, v128.and(c, mask), 32)
  const first = v128.and(i16x8.shr_u(a, 6), i8x16.splat(3))
  const second = v128.and(i16x8.shr_u(b, 4), i8x16.splat(12))
  const third = v128.and(i16x8.shr_u(c, 2), i8x16.splat(48))
  v128.store(out, v128.or(first, v128.or(second, third)), 48)
}

/** The sum of the activations of each run of a row, as `leastsOfSix` takes it. */
export function sizesOf(x: usize, out: usize, runs: i32): void {
  for (let run = 0; run < runs; run++) {
    store<f32>(out, f32x4.extract_lane(sizeOf(v128.load_splat<i32>(x, 12), v128.load_splat<f32>(x)), 0))
    x += X_BLOCK_BYTES
    out += 4
  }
}

/** What is taken off of eight rows, where the leasts have factors of 6 bits; `room`: for their bytes, 64. */
export function leastsOfSix(group: usize, sizes: usize, room: usize, out: usize, blocks: i32): void {
  let low = f32x4.splat(0)
  let high = low
  for (let i = 0; i < blocks; i++) {
    const d = v128.load(group, 16)
    const lows = wideLow(d)
    const highs = wideHigh(d)
    sixtyFour(group + 80, room)
    for (let run: usize = 0; run < 8; run++) {
      const factors = v128.load8x8_u(room + run * 8)
      const size = v128.load_splat<f32>(sizes)
      const a = f32x4.mul(f32x4.convert_i32x4_s(i32x4.extend_low_i16x8_s(factors)), lows)
      const b = f32x4.mul(f32x4.convert_i32x4_s(i32x4.extend_high_i16x8_s(factors)), highs)
      low = f32x4.add(low, f32x4.mul(size, a))
      high = f32x4.add(high, f32x4.mul(size, b))
      sizes += 4
    }
    group += 128
  }
  v128.store(out, low)
  v128.store(out, high, 16)
}
