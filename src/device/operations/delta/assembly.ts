/** The gated delta rule: for each head of values of a span, its rows one after the other through the head's matrix. */
import { Delta, SILU } from '../../cpu/assembly/abi'
import { gateRow, rmsnorm } from '../../cpu/assembly/elementwise'
import { exp4 } from '../../cpu/assembly/exp'
import { firstRow, rowsOf, stateAfter, stateBefore } from '../../cpu/assembly/spans'

/** Of the lengths of queries and keys. */
const EPSILON: f32 = 1e-6
/** A line of memory: so many columns of the matrix are done for all rows at a time. */
const COLUMNS: i32 = 16

export function delta(args: usize, from: i32, to: i32, thread: i32): void {
  const heads = Delta.valueHeads(args)
  const room = Delta.room(args) + <usize>thread * Delta.roomGap(args)
  for (let item = from; item < to; item++) deltaHead(args, item / heads, item % heads, room)
}

function deltaHead(args: usize, span: i32, head: i32, room: usize): void {
  const spans = Delta.spans(args)
  const first = firstRow(spans, span)
  const rows = rowsOf(spans, span)
  prepareRows(args, first, rows, head, room)
  const size = Delta.valueSize(args)
  const width = (<usize>size) << 2
  const at = <usize>head * <usize>Delta.keySize(args) * width
  const before = stateBefore(spans, span, Delta.state(args), Delta.slotBytes(args))
  const keys = Delta.keyHeads(args) * Delta.keySize(args)
  const values = Delta.x(args) + first * Delta.xStride(args) + ((<usize>(2 * keys + head * size)) << 2)
  const out = Delta.out(args) + first * Delta.outStride(args) + <usize>head * width
  for (let column = 0; column < size; column += COLUMNS) {
    const c = (<usize>column) << 2
    deltaColumns(args, span, room, before === 0 ? 0 : before + at + c, at + c, values + c, out + c)
  }
  const stride = Delta.outStride(args)
  rmsnorm(out, stride, Delta.weight(args), out, stride, 0, rows, size, Delta.epsilon(args))
  let gates = Delta.gates(args) + first * Delta.gatesStride(args) + <usize>head * width
  for (let row: usize = 0; row < <usize>rows; row++) {
    gateRow(SILU, gates, out + row * stride, out + row * stride, size)
    gates += Delta.gatesStride(args)
  }
}

/** For each row: query and key, what stays, what is learned, and query times key, each of these three in four lanes. */
function roomOfRow(args: usize): usize {
  return ((<usize>(2 * Delta.keySize(args))) << 2) + 48
}

function prepareRows(args: usize, first: usize, rows: i32, head: i32, room: usize): void {
  const size = Delta.keySize(args)
  const keyHeads = Delta.keyHeads(args)
  const keyHead = Delta.tiled(args) ? head % keyHeads : head / (Delta.valueHeads(args) / keyHeads)
  const width = (<usize>size) << 2
  const at = (<usize>head) << 2
  const learned = (<usize>Delta.valueHeads(args)) << 2
  const speed = load<f32>(Delta.speed(args) + at)
  const delay = load<f32>(Delta.delay(args) + at)
  for (let row = first; row < first + <usize>rows; row++) {
    const query = Delta.x(args) + row * Delta.xStride(args) + <usize>keyHead * width
    unit(query, room, size, 1 / sqrt<f32>(<f32>size))
    unit(query + <usize>keyHeads * width, room + width, size, 1)
    const rates = Delta.rates(args) + row * Delta.ratesStride(args) + at
    const rest = room + 2 * width
    v128.store(rest, exp4(f32x4.splat(speed * softplus(load<f32>(rates + learned) + delay))))
    v128.store(rest, f32x4.div(f32x4.splat(1), f32x4.add(f32x4.splat(1), exp4(f32x4.splat(-load<f32>(rates))))), 16)
    v128.store(rest, f32x4.splat(dot(room, room + width, size)), 32)
    room += roomOfRow(args)
  }
}

function softplus(x: f32): f32 {
  return x > 20 ? x : Mathf.log1p(f32x4.extract_lane(exp4(f32x4.splat(x)), 0))
}

function dot(a: usize, b: usize, size: i32): f32 {
  let sums = f32x4.splat(0)
  for (const end = a + ((<usize>size) << 2); a < end; a += 16) {
    sums = f32x4.add(sums, f32x4.mul(v128.load(a), v128.load(b)))
    b += 16
  }
  return (
    f32x4.extract_lane(sums, 0) +
    f32x4.extract_lane(sums, 1) +
    (f32x4.extract_lane(sums, 2) + f32x4.extract_lane(sums, 3))
  )
}

function unit(x: usize, out: usize, size: i32, scale: f32): void {
  const factor = f32x4.splat(scale / sqrt<f32>(dot(x, x, size) + EPSILON))
  for (const end = x + ((<usize>size) << 2); x < end; x += 16) {
    v128.store(out, f32x4.mul(v128.load(x), factor))
    out += 16
  }
}

/**
 * Sixteen columns of the matrix through all rows, read at `before` (0: all zero) and left `own` bytes into the state after
 * each. What the matrix answers after it has learned is what it answered before, and the share of what is learned.
 */
function deltaColumns(args: usize, span: i32, room: usize, before: usize, own: usize, values: usize, out: usize): void {
  const size = Delta.keySize(args)
  const stride = (<usize>Delta.valueSize(args)) << 2
  const keyBytes = (<usize>size) << 2
  const next = roomOfRow(args)
  const spans = Delta.spans(args)
  const rows = rowsOf(spans, span)
  let source = before
  for (let row = 0; row < rows; row++) {
    const after = stateAfter(spans, span, row, Delta.state(args), Delta.slotBytes(args)) + own
    const rest = room + 2 * keyBytes
    const stays = v128.load(rest)
    const learns = v128.load(rest, 16)
    const both = v128.load(rest, 32)
    let known0 = f32x4.splat(0)
    let known1 = f32x4.splat(0)
    let known2 = f32x4.splat(0)
    let known3 = f32x4.splat(0)
    let asked0 = f32x4.splat(0)
    let asked1 = f32x4.splat(0)
    let asked2 = f32x4.splat(0)
    let asked3 = f32x4.splat(0)
    if (source !== 0) {
      let p = source
      for (let i: usize = 0; i < keyBytes; i += 4) {
        const q = v128.load32_splat(room + i)
        const k = v128.load32_splat(room + keyBytes + i)
        const s0 = v128.load(p)
        const s1 = v128.load(p, 16)
        const s2 = v128.load(p, 32)
        const s3 = v128.load(p, 48)
        known0 = f32x4.add(known0, f32x4.mul(s0, k))
        known1 = f32x4.add(known1, f32x4.mul(s1, k))
        known2 = f32x4.add(known2, f32x4.mul(s2, k))
        known3 = f32x4.add(known3, f32x4.mul(s3, k))
        asked0 = f32x4.add(asked0, f32x4.mul(s0, q))
        asked1 = f32x4.add(asked1, f32x4.mul(s1, q))
        asked2 = f32x4.add(asked2, f32x4.mul(s2, q))
        asked3 = f32x4.add(asked3, f32x4.mul(s3, q))
        p += stride
      }
    }
    const u0 = f32x4.mul(f32x4.sub(v128.load(values), f32x4.mul(known0, stays)), learns)
    const u1 = f32x4.mul(f32x4.sub(v128.load(values, 16), f32x4.mul(known1, stays)), learns)
    const u2 = f32x4.mul(f32x4.sub(v128.load(values, 32), f32x4.mul(known2, stays)), learns)
    const u3 = f32x4.mul(f32x4.sub(v128.load(values, 48), f32x4.mul(known3, stays)), learns)
    v128.store(out, f32x4.add(f32x4.mul(asked0, stays), f32x4.mul(u0, both)))
    v128.store(out, f32x4.add(f32x4.mul(asked1, stays), f32x4.mul(u1, both)), 16)
    v128.store(out, f32x4.add(f32x4.mul(asked2, stays), f32x4.mul(u2, both)), 32)
    v128.store(out, f32x4.add(f32x4.mul(asked3, stays), f32x4.mul(u3, both)), 48)
    let from = source
    let to = after
    for (let i: usize = 0; i < keyBytes; i += 4) {
      const k = v128.load32_splat(room + keyBytes + i)
      if (from === 0) {
        v128.store(to, f32x4.mul(u0, k))
        v128.store(to, f32x4.mul(u1, k), 16)
        v128.store(to, f32x4.mul(u2, k), 32)
        v128.store(to, f32x4.mul(u3, k), 48)
      } else {
        v128.store(to, f32x4.add(f32x4.mul(v128.load(from), stays), f32x4.mul(u0, k)))
        v128.store(to, f32x4.add(f32x4.mul(v128.load(from, 16), stays), f32x4.mul(u1, k)), 16)
        v128.store(to, f32x4.add(f32x4.mul(v128.load(from, 32), stays), f32x4.mul(u2, k)), 32)
        v128.store(to, f32x4.add(f32x4.mul(v128.load(from, 48), stays), f32x4.mul(u3, k)), 48)
        from += stride
      }
      to += stride
    }
    source = after
    room += next
    values += Delta.xStride(args)
    out += Delta.outStride(args)
  }
}
