/** Rows of a packed matrix as f32: token embeddings, also where they are the output head at the same time. */

import { GROUP, Q4_BLOCK_BYTES } from './abi'
import { blockGroupBytes } from './blocks'
import { f16ToF32 } from './half'
import { Q4_SCALES_BYTES, Q4_STEP_BYTES, Q4_ZERO } from './layout'
import { blockRow, unfold } from './unfold'

export function rowQ4(w: usize, row: i32, out: usize, blocks: i32): void {
  const lane = (<usize>(row % GROUP)) << 2
  let p = w + <usize>((row / GROUP) * blocks) * Q4_BLOCK_BYTES + lane
  for (let b = 0; b < blocks; b++) {
    const scale = load<f32>(p)
    for (let step: usize = 0; step < 4; step++) {
      const word = load<u32>(p + Q4_SCALES_BYTES + step * Q4_STEP_BYTES)
      for (let i = 0; i < 4; i++) {
        const pair = word >>> (i << 3)
        const at = out + ((<usize>i) << 2)
        store<f32>(at, <f32>(<i32>(pair & 15) - Q4_ZERO) * scale)
        store<f32>(at, <f32>(<i32>((pair >>> 4) & 15) - Q4_ZERO) * scale, 16)
      }
      out += 32
    }
    p += Q4_BLOCK_BYTES
  }
}

export function rowBlocks(kind: i32, w: usize, row: i32, room: usize, out: usize, k: i32): void {
  const group = w + <usize>(row / GROUP) * <usize>blockGroupBytes(kind, k)
  unfold(kind, group, room, k)
  blockRow(kind, group, room, row % GROUP, out, 4, k)
}

export function rowBF16(w: usize, row: i32, out: usize, k: i32): void {
  let p = w + ((<usize>((row / GROUP) * k * GROUP + (row % GROUP))) << 1)
  for (let i = 0; i < k; i++) {
    store<u32>(out, (<u32>load<u16>(p)) << 16)
    p += GROUP * 2
    out += 4
  }
}

export function rowF32(w: usize, row: i32, out: usize, k: i32): void {
  let p = w + ((<usize>((row / GROUP) * k * GROUP + (row % GROUP))) << 2)
  for (let i = 0; i < k; i++) {
    store<f32>(out, load<f32>(p))
    p += GROUP * 4
    out += 4
  }
}

export function rowF16(w: usize, row: i32, out: usize, k: i32): void {
  let p = w + ((<usize>((row / GROUP) * k * GROUP + (row % GROUP))) << 1)
  for (let i = 0; i < k; i++) {
    store<f32>(out, f16ToF32(load<u16>(p)))
    p += GROUP * 2
    out += 4
  }
}
