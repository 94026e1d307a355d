/** The product of `matmul-q4.ts` without rounding activations. */
import { GROUP, Q4_BLOCK_BYTES } from './abi'
import { Q4_SCALES_BYTES, Q4_STEP_BYTES, Q4_ZERO } from './layout'
import { putRows } from './rows'

/**
 * One token with its activations as they are, f32: what rounding them costs is measured against it. About three times
 * slower.
 */
export function matmulQ4Exact(w: usize, x: usize, y: usize, from: i32, to: i32, n: i32, blocks: i32, add: bool): void {
  let p = w + <usize>(from * blocks) * Q4_BLOCK_BYTES
  for (let g = from; g < to; g++) {
    let xp = x
    let low = f32x4.splat(0)
    let high = low
    for (let b = 0; b < blocks; b++) {
      const scales = p
      let s0 = f32x4.splat(0)
      let s1 = s0
      p += Q4_SCALES_BYTES
      for (let step = 0; step < 4; step++) {
        let w0 = v128.load(p)
        let w1 = v128.load(p, 16)
        for (let i = 0; i < 8; i++) {
          // Byte t of a lane holds columns t and t + 4.
          const e = v128.load_splat<f32>(xp + ((<usize>((i >> 1) | ((i & 1) << 2))) << 2))
          s0 = f32x4.add(s0, f32x4.mul(e, weights(w0)))
          s1 = f32x4.add(s1, f32x4.mul(e, weights(w1)))
          w0 = i32x4.shr_u(w0, 4)
          w1 = i32x4.shr_u(w1, 4)
        }
        p += Q4_STEP_BYTES
        xp += 32
      }
      low = f32x4.add(low, f32x4.mul(s0, v128.load(scales)))
      high = f32x4.add(high, f32x4.mul(s1, v128.load(scales, 16)))
    }
    const row = g * GROUP
    putRows(y + ((<usize>row) << 2), low, n - row, add)
    putRows(y + ((<usize>row) << 2) + 16, high, n - row - 4, add)
  }
}

function weights(codes: v128): v128 {
  return f32x4.convert_i32x4_s(i32x4.sub(v128.and(codes, i32x4.splat(15)), i32x4.splat(Q4_ZERO)))
}
