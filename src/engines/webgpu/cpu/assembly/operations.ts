/**
 * The operations of a program. Each takes a pointer to its arguments, 32-bit words whose order stands in
 * `program.ts` beside `index.ts`, and a range of its items; items are independent of one another. Strides are bytes.
 */
import { attend } from './attend'
import { writeKeyValue } from './cache-page'
import { gateMul, joinRows, meanRows, rmsnorm, ropeHead } from './elementwise'
import { rowBF16, rowF16, rowF32, rowQ4 } from './embed'
import { gated } from './gated'
import { BF16, BLOCK, F16, Q4, Q4_EXACT } from './layout'
import { matmul } from './matmul'
import { quantize, scaleUp } from './prepare'
import { float, pointer, word } from './words'

export function runOperation(code: i32, args: usize, from: i32, to: i32, thread: i32): void {
  if (code === 0) embed(args, from, to)
  else if (code === 1) norm(args, from, to, thread)
  else if (code === 2) prepareRows(args, from, to, thread)
  else if (code === 3) matmul(args, from, to, thread)
  else if (code === 4) place(args, from, to)
  else if (code === 5) attend(args, from, to, thread)
  else if (code === 6) activate(args, from, to)
  else if (code === 7) copyRows(args, from, to)
  else if (code === 8) gated(args, from, to, thread)
  else if (code === 9) join(args, from, to)
  else if (code === 10) pool(args, from, to)
}

/** kind, matrix, its row for each item, out, its stride, k. Items: tokens. */
export function embed(args: usize, from: i32, to: i32): void {
  const kind = word(args, 0)
  const w = pointer(args, 1)
  const k = word(args, 5)
  for (let i = from; i < to; i++) {
    const token = load<i32>(pointer(args, 2) + ((<usize>i) << 2))
    const out = pointer(args, 3) + <usize>i * pointer(args, 4)
    if (kind === Q4 || kind === Q4_EXACT) rowQ4(w, token, out, k / BLOCK)
    else if (kind === F16) rowF16(w, token, out, k)
    else if (kind === BF16) rowBF16(w, token, out, k)
    else rowF32(w, token, out, k)
  }
}

/** Activations in the form that a matrix of this kind is multiplied with; some take them as they are. */
function prepare(kind: i32, x: usize, xStride: usize, out: usize, from: i32, to: i32, k: i32): void {
  if (kind === Q4) quantize(x, xStride, out, from, to, k / BLOCK)
  else if (kind === F16) scaleUp(x, xStride, out, from, to, k)
}

/** x, its stride, out, k, kind, bytes from one thread's out to the next's. Items: rows. */
export function prepareRows(args: usize, from: i32, to: i32, thread: i32): void {
  const out = pointer(args, 2) + <usize>thread * pointer(args, 5)
  prepare(word(args, 4), pointer(args, 0), pointer(args, 1), out, from, to, word(args, 3))
}

/** x, its stride, weight, out (packed), k, epsilon, prepared, kind, bytes from one thread's outs to the next's. Items: rows. */
export function norm(args: usize, from: i32, to: i32, thread: i32): void {
  const k = word(args, 4)
  const own = <usize>thread * pointer(args, 8)
  const out = pointer(args, 3) + own
  const stride = (<usize>k) << 2
  rmsnorm(pointer(args, 0), pointer(args, 1), pointer(args, 2), out, stride, from, to, k, float(args, 5))
  prepare(word(args, 7), out, stride, pointer(args, 6) + own, from, to, k)
}

/** x (packed), out, its stride, k, prepared, kind, its gate. Items: rows. */
export function activate(args: usize, from: i32, to: i32): void {
  const k = word(args, 3)
  gateMul(word(args, 6), pointer(args, 0), pointer(args, 1), pointer(args, 2), from, to, k)
  prepare(word(args, 5), pointer(args, 1), pointer(args, 2), pointer(args, 4), from, to, k)
}

/**
 * x, its stride, weight or 0, out, its stride, k, epsilon, scale, whether to add, cap or 0, whether the norm is centred,
 * its bias or 0, gate and 1 or 0. Items: rows.
 */
export function join(args: usize, from: i32, to: i32): void {
  joinRows(
    pointer(args, 0),
    pointer(args, 1),
    pointer(args, 2),
    pointer(args, 3),
    pointer(args, 4),
    from,
    to,
    word(args, 5),
    float(args, 6),
    float(args, 7),
    word(args, 8) !== 0,
    float(args, 9),
    word(args, 10) !== 0,
    pointer(args, 11),
    word(args, 12),
  )
}

/** x, its stride, first row of each span and the end of the last, out, its stride, k. Items: spans. */
export function pool(args: usize, from: i32, to: i32): void {
  for (let i = from; i < to; i++) {
    const firsts = pointer(args, 2) + ((<usize>i) << 2)
    const first = load<i32>(firsts)
    const x = pointer(args, 0) + <usize>first * pointer(args, 1)
    const out = pointer(args, 3) + <usize>i * pointer(args, 4)
    meanRows(x, pointer(args, 1), load<i32>(firsts, 4) - first, out, word(args, 5))
  }
}

/** x, its stride, row of x for each item or 0, out, its stride, bytes. Items: rows of out. */
export function copyRows(args: usize, from: i32, to: i32): void {
  const rows = pointer(args, 2)
  for (let i = <usize>from; i < <usize>to; i++) {
    const row = rows === 0 ? i : <usize>load<i32>(rows + (i << 2))
    const out = pointer(args, 3) + i * pointer(args, 4)
    memory.copy(out, pointer(args, 0) + row * pointer(args, 1), pointer(args, 5))
  }
}

/**
 * Turns queries and keys by their positions and puts keys and values into the cache. Items: a row's key head, and the
 * heads of queries that read it, so that mostly the same thread will read what it writes here.
 * qkv, its row in bytes, heads, key heads, d, angles, positions, page of each row, keys, values, bytes of a page of
 * keys and of values, norm weights of queries and keys or 0, epsilon, whether the cache is in f16.
 */
export function place(args: usize, from: i32, to: i32): void {
  const keyHeads = word(args, 3)
  for (let item = from; item < to; item++) {
    if (word(args, 15) !== 0) placeHead<u16>(args, item / keyHeads, item % keyHeads)
    else placeHead<f32>(args, item / keyHeads, item % keyHeads)
  }
}

function placeHead<T>(args: usize, row: i32, head: i32): void {
  const heads = word(args, 2)
  const keyHeads = word(args, 3)
  const d = word(args, 4)
  const headBytes = (<usize>d) << 2
  const share = heads / keyHeads
  const qkv = pointer(args, 0) + <usize>row * pointer(args, 1)
  const k = qkv + <usize>(heads + head) * headBytes
  const at = (<usize>row) << 2
  const position = load<i32>(pointer(args, 6) + at)
  const page = <usize>load<i32>(pointer(args, 7) + at)
  const angles = pointer(args, 5) + <usize>position * headBytes
  turn(qkv + <usize>(head * share) * headBytes, share, pointer(args, 12), angles, d, float(args, 14))
  turn(k, 1, pointer(args, 13), angles, d, float(args, 14))
  const keys = pointer(args, 8) + page * pointer(args, 10) + <usize>head * <usize>d * 16 * sizeof<T>()
  const values = pointer(args, 9) + page * pointer(args, 11) + <usize>head * <usize>((d + 15) >> 4) * 256 * sizeof<T>()
  writeKeyValue<T>(k, k + <usize>keyHeads * headBytes, keys, values, position & 15, d)
}

function turn(x: usize, heads: i32, weight: usize, angles: usize, d: i32, eps: f32): void {
  const bytes = (<usize>d) << 2
  if (weight !== 0) rmsnorm(x, bytes, weight, x, bytes, 0, heads, d, eps)
  for (let h = 0; h < heads; h++) {
    ropeHead(x, angles, d)
    x += bytes
  }
}
