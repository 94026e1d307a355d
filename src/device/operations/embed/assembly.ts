/** Rows of a packed matrix as f32: token embeddings, also where they are the output head at the same time. */
import {
  BF16,
  BLOCK,
  Embed,
  EXACT_BLOCKS,
  F16,
  FIRST_BLOCK_KIND,
  GROUP,
  Q4,
  Q4_BLOCK_BYTES,
  Q4_EXACT,
} from '../../cpu/assembly/abi'
import { blockGroupBytes } from '../../cpu/assembly/blocks'
import { f16ToF32 } from '../../cpu/assembly/half'
import { Q4_SCALES_BYTES, Q4_STEP_BYTES, Q4_ZERO } from '../../cpu/assembly/layout'
import { blockRow, unfold } from '../../cpu/assembly/unfold'

export function embed(args: usize, from: i32, to: i32, thread: i32): void {
  const kind = Embed.kind(args)
  const w = Embed.matrix(args)
  const k = Embed.columns(args)
  for (let i = from; i < to; i++) {
    const token = load<i32>(Embed.ids(args) + ((<usize>i) << 2))
    const out = Embed.out(args) + <usize>i * Embed.outStride(args)
    if (kind >= FIRST_BLOCK_KIND) {
      const room = Embed.room(args) + <usize>thread * Embed.roomGap(args)
      rowBlocks(kind & (EXACT_BLOCKS - 1), w, token, room, out, k)
    } else if (kind === Q4 || kind === Q4_EXACT) rowQ4(w, token, out, k / BLOCK)
    else if (kind === F16) rowF16(w, token, out, k)
    else if (kind === BF16) rowBF16(w, token, out, k)
    else rowF32(w, token, out, k)
  }
}

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
