/** Brings weights into the form that the matrix kernels read, once: whole groups of eight rows. */
import { BLOCK, EXACT_BLOCKS, F32, FIRST_BLOCK_KIND, GROUP, Pack, Q4, Q4_BLOCK_BYTES, Q4_EXACT } from './abi'
import { Q4_SCALES_BYTES, Q4_STEP_BYTES } from './layout'
import { packBlocks } from './pack-blocks'
import { wideHigh, wideLow } from './scales'
import { pairs, words } from './side-by-side'

export function pack(args: usize, from: i32, to: i32): void {
  const kind = Pack.kind(args)
  const source = Pack.source(args)
  const w = Pack.matrix(args)
  const k = Pack.columns(args)
  if (kind >= FIRST_BLOCK_KIND) packBlocks(kind & (EXACT_BLOCKS - 1), source, w, from, to, k)
  else if (kind === Q4 || kind === Q4_EXACT) packQ4(source, Pack.scales(args), Pack.half(args), w, from, to, k / BLOCK)
  else packDense(source, kind === F32 ? 4 : 2, w, from, to, k)
}

/** Eight nibbles of each row, low first, to four bytes that hold nibble t low and nibble t + 4 high. */
function pairNibbles(codes: v128): v128 {
  return v128.or(spaced(v128.and(codes, i32x4.splat(0xffff))), i32x4.shl(spaced(i32x4.shr_u(codes, 16)), 4))
}

/** Four nibbles to a byte each. */
function spaced(nibbles: v128): v128 {
  const bytes = v128.and(v128.or(nibbles, i32x4.shl(nibbles, 8)), i32x4.splat(0x00ff00ff))
  return v128.and(v128.or(bytes, i32x4.shl(bytes, 4)), i32x4.splat(0x0f0f0f0f))
}

/** An MLC 4-bit matrix: `codes` [n][k / 8], `scales` [n][k / 32], f16 or f32. */
export function packQ4(codes: usize, scales: usize, half: bool, w: usize, from: i32, to: i32, blocks: i32): void {
  const stride = (<usize>blocks) << 4
  const scaleStride = <usize>blocks * (half ? 2 : 4)
  for (let group = <usize>from; group < <usize>to; group++) {
    let p = w + group * <usize>blocks * Q4_BLOCK_BYTES
    let c = codes + group * GROUP * stride
    let s = scales + group * GROUP * scaleStride
    for (let b = 0; b < blocks; b++) {
      if (half) {
        const eight = pairs(s, scaleStride)
        v128.store(p, wideLow(eight))
        v128.store(p, wideHigh(eight), 16)
      } else {
        v128.store(p, words(s, scaleStride))
        v128.store(p, words(s + 4 * scaleStride, scaleStride), 16)
      }
      for (let step: usize = 0; step < 4; step++) {
        const to = p + Q4_SCALES_BYTES + step * Q4_STEP_BYTES
        v128.store(to, pairNibbles(words(c, stride)))
        v128.store(to, pairNibbles(words(c + 4 * stride, stride)), 16)
        c += 4
      }
      s += half ? 2 : 4
      p += Q4_BLOCK_BYTES
    }
  }
}

/** A dense matrix, `size` bytes an element: [n / 8][k][8]. */
export function packDense(source: usize, size: i32, w: usize, from: i32, to: i32, k: i32): void {
  const stride = <usize>(k * size)
  for (let group = <usize>from; group < <usize>to; group++) {
    const p = source + group * GROUP * stride
    const out = w + group * GROUP * stride
    if (size === 4) dense4(p, stride, out, k)
    else dense2(p, stride, out, k)
  }
}

function dense4(p: usize, stride: usize, out: usize, k: i32): void {
  for (let i = 0; i < k; i++) {
    v128.store(out, words(p, stride))
    v128.store(out, words(p + 4 * stride, stride), 16)
    p += 4
    out += 32
  }
}

/** Two columns at a time. */
function dense2(p: usize, stride: usize, out: usize, k: i32): void {
  for (let i = 1; i < k; i += 2) {
    const a = words(p, stride)
    const b = words(p + 4 * stride, stride)
    v128.store(out, v128.shuffle<i16>(a, b, 0, 2, 4, 6, 8, 10, 12, 14))
    v128.store(out, v128.shuffle<i16>(a, b, 1, 3, 5, 7, 9, 11, 13, 15), 16)
    p += 4
    out += 32
  }
  if (k & 1) v128.store(out, pairs(p, stride))
}
