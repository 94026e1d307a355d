/** The matrix product: any kind of matrix, any number of tokens. */

import {
  BF16,
  BLOCK,
  BYTE_WAYS,
  EXACT_BLOCKS,
  F16,
  FIRST_BLOCK_KIND,
  GROUP,
  PAIRS,
  Product,
  Q4,
  Q4_BLOCK_BYTES,
  Q4_EXACT,
  WIDE_BLOCKS,
} from './abi'
import { blockGroupBytes } from './blocks'
import { multiplyBlocks, multiplyBlocksExact } from './matmul-blocks'
import { dense1, dense4, denseOfMany, TOGETHER, WIDENED_FROM } from './matmul-dense'
import { matmulQ4x1 } from './matmul-q4'
import { matmulQ4x4 } from './matmul-q4-batch'
import { matmulQ4Exact } from './matmul-q4-exact'

/** So many bytes of a matrix are multiplied with all tokens before the next: half of a small first-level cache. */
const TILE_BYTES: i32 = 16384

export function groupBytes(kind: i32, k: i32): i32 {
  kind &= ~BYTE_WAYS
  if (kind >= FIRST_BLOCK_KIND) return blockGroupBytes(kind & (WIDE_BLOCKS - 1), k)
  if (kind === Q4 || kind === Q4_EXACT) return (k / BLOCK) * <i32>Q4_BLOCK_BYTES
  return k * GROUP * (kind === F16 || kind === BF16 ? 2 : 4)
}

/** Groups `from` to `to` of a product's matrix, times rows of x that lie as it says. */
export function multiply(
  args: usize,
  x: usize,
  y: usize,
  yStride: usize,
  from: i32,
  to: i32,
  n: i32,
  k: i32,
  tokens: i32,
  add: bool,
  planes: usize,
): void {
  let kind = Product.kind(args)
  const pairs = (kind & PAIRS) !== 0
  const way = kind & BYTE_WAYS
  kind &= ~BYTE_WAYS
  const w = Product.matrix(args)
  const xStride = Product.xStride(args)
  if (ASC_FEATURE_RELAXED_SIMD && pairs && kind === Q4) {
    multiplyQ4<i16>(w, x, xStride, y, yStride, from, to, n, k / BLOCK, tokens, add, planes)
  } else if (kind === Q4) multiplyQ4<i8>(w, x, xStride, y, yStride, from, to, n, k / BLOCK, tokens, add, planes)
  else if (kind >= EXACT_BLOCKS) {
    multiplyBlocksExact(kind - EXACT_BLOCKS, w, x, xStride, y, yStride, from, to, n, k, tokens, add, planes)
  } else if (kind >= FIRST_BLOCK_KIND) {
    multiplyBlocks(kind | way, w, x, xStride, y, yStride, from, to, n, k, tokens, add, planes)
  } else {
    // One token needs each weight once. Of few tokens each has groups of its own side by side.
    const fit = TILE_BYTES / groupBytes(kind, k)
    const tile = tokens === 1 ? to - from : tokens < 4 ? max(TOGETHER, fit & -TOGETHER) : max(1, fit)
    for (let g = from; g < to; g += tile) {
      multiplyTile(kind, w, x, xStride, y, yStride, g, min(g + tile, to), n, k, tokens, add, planes)
    }
  }
}

/** Products are added up by fours (P: i8) or by pairs (i16). */
function multiplyQ4<P>(
  w: usize,
  x: usize,
  xStride: usize,
  y: usize,
  yStride: usize,
  from: i32,
  to: i32,
  n: i32,
  blocks: i32,
  tokens: i32,
  add: bool,
  planes: usize,
): void {
  const quads = tokens >> 2
  if (quads > 0) matmulQ4x4<P>(w, x, xStride, y, yStride, from, to, n, blocks, add, quads, planes)
  for (let t = quads * 4; t < tokens; t++) {
    matmulQ4x1<P>(w, x + <usize>t * xStride, y + <usize>t * yStride, from, to, n, blocks, add, planes)
  }
}

function multiplyTile(
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
  sums: usize,
): void {
  let t = 0
  if (tokens >= WIDENED_FROM && (kind === F16 || kind === BF16)) {
    t = tokens & ~3
    if (kind === F16) denseOfMany<u16>(w, x, xStride, y, yStride, from, to, n, k, t, add, sums)
    else denseOfMany<i16>(w, x, xStride, y, yStride, from, to, n, k, t, add, sums)
    x += <usize>t * xStride
    y += <usize>t * yStride
  } else if (kind !== Q4_EXACT) {
    for (; t + 4 <= tokens; t += 4) {
      multiply4(kind, w, x, xStride, y, yStride, from, to, n, k, add, sums)
      x += xStride << 2
      y += yStride << 2
    }
  }
  for (; t < tokens; t++) {
    multiply1(kind, w, x, y, from, to, n, k, add)
    x += xStride
    y += yStride
  }
}

function multiply1(kind: i32, w: usize, x: usize, y: usize, from: i32, to: i32, n: i32, k: i32, add: bool): void {
  if (kind === Q4_EXACT) matmulQ4Exact(w, x, y, from, to, n, k / BLOCK, add)
  else if (kind === F16) dense1<u16>(w, x, y, from, to, n, k, add)
  else if (kind === BF16) dense1<i16>(w, x, y, from, to, n, k, add)
  else dense1<f32>(w, x, y, from, to, n, k, add)
}

function multiply4(
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
  add: bool,
  sums: usize,
): void {
  if (kind === F16) dense4<u16, u16>(w, x, xStride, y, yStride, from, to, n, k, add, sums)
  else if (kind === BF16) dense4<i16, i16>(w, x, xStride, y, yStride, from, to, n, k, add, sums)
  else dense4<f32, f32>(w, x, xStride, y, yStride, from, to, n, k, add, sums)
}
