/**
 * The operations of a program. Each takes a pointer to its arguments, which `abi.ts` names and explains, and a range of
 * its items; items are independent of one another. Strides are bytes.
 */
import {
  ACTIVATE,
  Activate,
  ATTEND,
  BLOCK,
  CACHE_F16,
  CACHE_Q8_0,
  F16,
  GATED,
  MATMUL,
  NORM,
  Norm,
  PACK,
  PLACE,
  Place,
  PREPARE,
  Prepare,
  Q4,
  WIDE,
} from './abi'
import { attend } from './attend'
import { keptBytes, writeBlocks, writeKeyValue } from './cache-page'
import { runDefined } from './defined'
import { gateMul, rmsnorm, ropeHead } from './elementwise'
import { gated } from './gated'
import { matmul } from './matmul'
import { pack } from './pack'
import { quantize, scaleUp } from './prepare'

export function runOperation(code: i32, args: usize, from: i32, to: i32, thread: i32): void {
  if (code === NORM) norm(args, from, to, thread)
  else if (code === PREPARE) prepareRows(args, from, to, thread)
  else if (code === MATMUL) matmul(args, from, to, thread)
  else if (code === PLACE) place(args, from, to)
  else if (code === ATTEND) attend(args, from, to, thread)
  else if (code === ACTIVATE) activate(args, from, to)
  else if (code === GATED) gated(args, from, to, thread)
  else if (code === PACK) pack(args, from, to)
  else runDefined(code, args, from, to, thread)
}

/** Activations in the form that a matrix of this kind is multiplied with; some take them as they are. */
function prepare(kind: i32, x: usize, xStride: usize, out: usize, from: i32, to: i32, k: i32): void {
  if (kind === Q4 || kind === WIDE) quantize(x, xStride, out, from, to, k / BLOCK, kind === WIDE)
  else if (kind === F16) scaleUp(x, xStride, out, from, to, k)
}

function prepareRows(args: usize, from: i32, to: i32, thread: i32): void {
  const out = Prepare.out(args) + <usize>thread * Prepare.gap(args)
  prepare(Prepare.kind(args), Prepare.x(args), Prepare.xStride(args), out, from, to, Prepare.columns(args))
}

function norm(args: usize, from: i32, to: i32, thread: i32): void {
  const k = Norm.columns(args)
  const own = <usize>thread * Norm.gap(args)
  const out = Norm.out(args) + own
  const stride = (<usize>k) << 2
  rmsnorm(Norm.x(args), Norm.xStride(args), Norm.weight(args), out, stride, from, to, k, Norm.epsilon(args))
  prepare(Norm.kind(args), out, stride, Norm.prepared(args) + own, from, to, k)
}

function activate(args: usize, from: i32, to: i32): void {
  const k = Activate.columns(args)
  const out = Activate.out(args)
  const stride = Activate.outStride(args)
  gateMul(Activate.gate(args), Activate.x(args), out, stride, from, to, k)
  prepare(Activate.kind(args), out, stride, Activate.prepared(args), from, to, k)
}

function place(args: usize, from: i32, to: i32): void {
  const keyHeads = Place.keyHeads(args)
  const kept = Place.kept(args)
  for (let item = from; item < to; item++) {
    if (kept === CACHE_F16) placeHead<u16>(args, item / keyHeads, item % keyHeads)
    else if (kept === CACHE_Q8_0) placeHead<i8>(args, item / keyHeads, item % keyHeads)
    else placeHead<f32>(args, item / keyHeads, item % keyHeads)
  }
}

function placeHead<T>(args: usize, row: i32, head: i32): void {
  const heads = Place.heads(args)
  const keyHeads = Place.keyHeads(args)
  const d = Place.headSize(args)
  const eps = Place.epsilon(args)
  const headBytes = (<usize>d) << 2
  const share = heads / keyHeads
  const qkv = Place.qkv(args) + <usize>row * Place.stride(args)
  const k = qkv + <usize>(heads + head) * headBytes
  const at = (<usize>row) << 2
  const position = load<i32>(Place.positions(args) + at)
  const page = <usize>load<i32>(Place.pages(args) + at)
  const angles = Place.angles(args) + <usize>position * headBytes
  const queries = qkv + <usize>(head * share) * headBytes
  turn(queries, share, Place.queryNorm(args), angles, d, eps)
  const growBy = Place.growBy(args)
  if (growBy !== 0) {
    const steps: i32 = position / Place.growEvery(args) + 1
    const growth = f32x4.splat(1 + growBy * Mathf.log(<f32>steps))
    const end = queries + <usize>share * headBytes
    for (let p = queries; p < end; p += 16) v128.store(p, f32x4.mul(v128.load(p), growth))
  }
  if (Place.queriesOnly(args)) return
  turn(k, 1, Place.keyNorm(args), angles, d, eps)
  const keys = Place.keys(args) + page * Place.keyPageBytes(args) + <usize>head * keptBytes<T>(d)
  const valueHead = <usize>head * keptBytes<T>((d + 15) & ~15)
  const values = Place.values(args) + page * Place.valuePageBytes(args) + valueHead
  const v = k + <usize>keyHeads * headBytes
  const slot = position & 15
  const fit =
    sizeof<T>() === 1 ? writeBlocks(k, v, keys, values, slot, d) : writeKeyValue<T>(k, v, keys, values, slot, d)
  if (!fit) {
    atomic.or<u32>(Place.overflows(args) + (page << 2), 1 << slot)
  }
}

function turn(x: usize, heads: i32, weight: usize, angles: usize, d: i32, eps: f32): void {
  const bytes = (<usize>d) << 2
  if (weight !== 0) rmsnorm(x, bytes, weight, x, bytes, 0, heads, d, eps)
  for (let h = 0; h < heads; h++) {
    ropeHead(x, angles, d)
    x += bytes
  }
}
