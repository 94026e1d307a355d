/**
 * The operations of a program. Each takes a pointer to its arguments, 32-bit words whose order stands in
 * `program.ts` beside `cpu.ts`, and a range of its items; items are independent of one another.
 */
import { attendHead, writeKeyValue } from './attention'
import { addBias, rmsnorm, ropeHead, siluMul } from './elementwise'
import { rowF16, rowF32, rowQ4 } from './embed'
import { BLOCK, GROUP, Q4_BLOCK_BYTES, X_BLOCK_BYTES } from './layout'
import { matmulF16x1, matmulF16x4, matmulF32x1, matmulF32x4 } from './matmul-dense'
import { matmulQ4x1, matmulQ4x4 } from './matmul-q4'
import { quantize, scaleUp } from './prepare'

/** Kinds of matrices; 0 is f32. */
const F16: i32 = 1
const Q4: i32 = 2

/** So many bytes of a matrix are multiplied with all tokens before the next: half of a small first-level cache. */
const TILE_BYTES: i32 = 16384

function word(args: usize, index: usize): i32 {
  return load<i32>(args + (index << 2))
}

function pointer(args: usize, index: usize): usize {
  return <usize>load<u32>(args + (index << 2))
}

function float(args: usize, index: usize): f32 {
  return load<f32>(args + (index << 2))
}

export function runOperation(code: i32, args: usize, from: i32, to: i32, thread: i32): void {
  if (code === 0) embed(args, from, to)
  else if (code === 1) norm(args, from, to)
  else if (code === 2) prepare(word(args, 3), pointer(args, 0), pointer(args, 1), from, to, word(args, 2))
  else if (code === 3) matmul(args, from, to)
  else if (code === 4) place(args, from, to)
  else if (code === 5) attend(args, from, to, thread)
  else if (code === 6) activate(args, from, to)
}

/** kind, matrix, tokens, out, k. Items: tokens. */
export function embed(args: usize, from: i32, to: i32): void {
  const kind = word(args, 0)
  const w = pointer(args, 1)
  const k = word(args, 4)
  for (let i = from; i < to; i++) {
    const token = load<i32>(pointer(args, 2) + ((<usize>i) << 2))
    const out = pointer(args, 3) + ((<usize>(i * k)) << 2)
    if (kind === Q4) rowQ4(w, token, out, k / BLOCK)
    else if (kind === F16) rowF16(w, token, out, k)
    else rowF32(w, token, out, k)
  }
}

/** Activations in the form that a matrix of this kind is multiplied with. */
function prepare(kind: i32, x: usize, out: usize, from: i32, to: i32, k: i32): void {
  if (kind === Q4) quantize(x, out, from, to, k / BLOCK)
  else if (kind === F16) scaleUp(x, out, from, to, k)
}

/** x, weight, out, k, epsilon, prepared, kind. Items: rows. */
export function norm(args: usize, from: i32, to: i32): void {
  const k = word(args, 3)
  const stride = (<usize>k) << 2
  rmsnorm(pointer(args, 0), stride, pointer(args, 1), pointer(args, 2), stride, from, to, k, float(args, 4))
  prepare(word(args, 6), pointer(args, 2), pointer(args, 5), from, to, k)
}

/** x, out, k, prepared, kind. Items: rows. */
export function activate(args: usize, from: i32, to: i32): void {
  siluMul(pointer(args, 0), pointer(args, 1), from, to, word(args, 2))
  prepare(word(args, 4), pointer(args, 1), pointer(args, 3), from, to, word(args, 2))
}

/** kind, matrix, x, y, n, k, tokens, row of y in values, whether to add, bias or 0. Items: groups of eight rows. */
export function matmul(args: usize, from: i32, to: i32): void {
  const kind = word(args, 0)
  const n = word(args, 4)
  const k = word(args, 5)
  const tokens = word(args, 6)
  const groupBytes = kind === Q4 ? (k / BLOCK) * <i32>Q4_BLOCK_BYTES : k * GROUP * (kind === F16 ? 2 : 4)
  const tile = max(1, TILE_BYTES / groupBytes)
  for (let g = from; g < to; g += tile) {
    const end = min(g + tile, to)
    let t = 0
    for (; t + 4 <= tokens; t += 4) multiply4(kind, args, t, g, end, n, k)
    for (; t < tokens; t++) multiply1(kind, args, t, g, end, n, k)
  }
  const bias = pointer(args, 9)
  if (bias === 0) return
  const first = (<usize>(from * GROUP)) << 2
  const rows = min(to * GROUP, n) - from * GROUP
  for (let t = 0; t < tokens; t++) {
    addBias(pointer(args, 3) + ((<usize>(t * word(args, 7))) << 2) + first, bias + first, 0, 1, rows)
  }
}

function multiply1(kind: i32, args: usize, token: i32, from: i32, to: i32, n: i32, k: i32): void {
  const w = pointer(args, 1)
  const x = pointer(args, 2)
  const y = pointer(args, 3) + ((<usize>(token * word(args, 7))) << 2)
  const add = word(args, 8) !== 0
  const blocks = k / BLOCK
  const row = (<usize>(token * k)) << 2
  if (kind === Q4) matmulQ4x1(w, x + <usize>(token * blocks) * X_BLOCK_BYTES, y, from, to, n, blocks, add)
  else if (kind === F16) matmulF16x1(w, x + row, y, from, to, n, k, add)
  else matmulF32x1(w, x + row, y, from, to, n, k, add)
}

function multiply4(kind: i32, args: usize, token: i32, from: i32, to: i32, n: i32, k: i32): void {
  const w = pointer(args, 1)
  const x = pointer(args, 2)
  const stride = (<usize>word(args, 7)) << 2
  const y = pointer(args, 3) + <usize>token * stride
  const add = word(args, 8) !== 0
  const blocks = k / BLOCK
  const quantized = <usize>blocks * X_BLOCK_BYTES
  const row = (<usize>(token * k)) << 2
  if (kind === Q4) {
    matmulQ4x4(w, x + <usize>token * quantized, quantized, y, stride, from, to, n, blocks, add)
  } else if (kind === F16) matmulF16x4(w, x + row, y, stride, from, to, n, k, add)
  else matmulF32x4(w, x + row, y, stride, from, to, n, k, add)
}

/**
 * Turns queries and keys by their positions and puts keys and values into the cache. Items: rows.
 * qkv, its row in bytes, heads, key heads, d, angles, positions, page of each row, keys, values, bytes of a page of
 * keys and of values, norm weights of queries and keys or 0, epsilon.
 */
export function place(args: usize, from: i32, to: i32): void {
  const heads = word(args, 2)
  const keyHeads = word(args, 3)
  const d = word(args, 4)
  const headBytes = (<usize>d) << 2
  const keyBytes = (<usize>d) << 6
  const valueBytes = (<usize>((d + 15) >> 4)) << 10
  for (let row = from; row < to; row++) {
    const q = pointer(args, 0) + <usize>row * pointer(args, 1)
    const k = q + <usize>heads * headBytes
    const v = k + <usize>keyHeads * headBytes
    const at = (<usize>row) << 2
    const position = load<i32>(pointer(args, 6) + at)
    const page = <usize>load<i32>(pointer(args, 7) + at)
    const angles = pointer(args, 5) + <usize>position * headBytes
    turn(q, heads, pointer(args, 12), angles, d, float(args, 14))
    turn(k, keyHeads, pointer(args, 13), angles, d, float(args, 14))
    const keys = pointer(args, 8) + page * pointer(args, 10)
    const values = pointer(args, 9) + page * pointer(args, 11)
    for (let h: usize = 0; h < <usize>keyHeads; h++) {
      writeKeyValue(
        k + h * headBytes,
        v + h * headBytes,
        keys + h * keyBytes,
        values + h * valueBytes,
        position & 15,
        d,
      )
    }
  }
}

function turn(x: usize, heads: i32, weight: usize, angles: usize, d: i32, eps: f32): void {
  const bytes = (<usize>d) << 2
  if (weight !== 0) rmsnorm(x, bytes, weight, x, bytes, 0, heads, d, eps)
  for (let h = 0; h < heads; h++) {
    ropeHead(x, x, angles, d)
    x += bytes
  }
}

/**
 * Items: heads of rows. qkv, its row in bytes, out, heads, key heads, d, keys, values, bytes of a page of keys and of
 * values, positions, page list of each row, window or 0, scale, scores, bytes of scores for each thread.
 */
export function attend(args: usize, from: i32, to: i32, thread: i32): void {
  const heads = word(args, 3)
  const d = word(args, 5)
  const share = heads / word(args, 4)
  const window = word(args, 12)
  const scores = pointer(args, 14) + <usize>thread * pointer(args, 15)
  for (let item = from; item < to; item++) {
    const row = <usize>(item / heads)
    const head = item % heads
    const keyHead = <usize>(head / share)
    const last = load<i32>(pointer(args, 10) + (row << 2)) + 1
    attendHead(
      pointer(args, 0) + row * pointer(args, 1) + ((<usize>(head * d)) << 2),
      pointer(args, 2) + ((<usize>(item * d)) << 2),
      pointer(args, 6) + keyHead * ((<usize>d) << 6),
      pointer(args, 8),
      pointer(args, 7) + keyHead * ((<usize>((d + 15) >> 4)) << 10),
      pointer(args, 9),
      <usize>load<u32>(pointer(args, 11) + (row << 2)),
      window > 0 ? max(0, last - window) : 0,
      last,
      d,
      float(args, 13),
      scores,
    )
  }
}
