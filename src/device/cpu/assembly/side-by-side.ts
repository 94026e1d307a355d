/** What stands at one place of several rows, side by side. Rows lie `stride` bytes apart. */

/** A word of each of four rows. */
export function words(p: usize, stride: usize): v128 {
  let some = v128.load32_zero(p)
  some = v128.load32_lane(p + stride, some, 1)
  some = v128.load32_lane(p + 2 * stride, some, 2)
  return v128.load32_lane(p + 3 * stride, some, 3)
}

/** Two bytes of each of eight rows. */
export function pairs(p: usize, stride: usize): v128 {
  let some = i16x8.splat(<i16>load<u16>(p))
  some = v128.load16_lane(p + stride, some, 1)
  some = v128.load16_lane(p + 2 * stride, some, 2)
  some = v128.load16_lane(p + 3 * stride, some, 3)
  p += 4 * stride
  some = v128.load16_lane(p, some, 4)
  some = v128.load16_lane(p + stride, some, 5)
  some = v128.load16_lane(p + 2 * stride, some, 6)
  return v128.load16_lane(p + 3 * stride, some, 7)
}

/** A byte of each of eight rows, to `out`. */
export function storeBytes(out: usize, p: usize, stride: usize): void {
  for (let row: usize = 0; row < 8; row++) store<u8>(out + row, load<u8>(p + row * stride))
}
