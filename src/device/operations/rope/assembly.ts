import { CACHE_F16, CACHE_Q4_0, CACHE_Q8_0, Rope } from '../../cpu/assembly/abi'
import { isPacked } from '../../cpu/assembly/cache-codes'
import { keptBytes, writeBlocks, writeKeyValue } from '../../cpu/assembly/cache-page'
import { rmsnorm, ropeHead } from '../../cpu/assembly/elementwise'

export function rope(args: usize, from: i32, to: i32, _thread: i32): void {
  const keyHeads = Rope.keyHeads(args)
  const kept = Rope.kept(args)
  for (let item = from; item < to; item++) {
    if (kept === CACHE_F16) ropeAndWrite<u16>(args, item / keyHeads, item % keyHeads)
    else if (kept === CACHE_Q8_0) ropeAndWrite<i8>(args, item / keyHeads, item % keyHeads)
    else if (kept === CACHE_Q4_0) ropeAndWrite<u8>(args, item / keyHeads, item % keyHeads)
    else ropeAndWrite<f32>(args, item / keyHeads, item % keyHeads)
  }
}

function ropeAndWrite<T>(args: usize, row: i32, head: i32): void {
  const heads = Rope.heads(args)
  const keyHeads = Rope.keyHeads(args)
  const d = Rope.headSize(args)
  const eps = Rope.epsilon(args)
  const headBytes = (<usize>d) << 2
  const share = heads / keyHeads
  const qkv = Rope.qkv(args) + <usize>row * Rope.stride(args)
  const k = qkv + <usize>(heads + head) * headBytes
  const at = (<usize>row) << 2
  const position = load<i32>(Rope.positions(args) + at)
  const page = <usize>load<i32>(Rope.pages(args) + at)
  const angles = Rope.angles(args) + <usize>position * headBytes
  const queries = qkv + <usize>(head * share) * headBytes
  turn(queries, share, Rope.queryNorm(args), angles, d, eps)
  const growBy = Rope.growBy(args)
  if (growBy !== 0) {
    const steps: i32 = position / Rope.growEvery(args) + 1
    const growth = f32x4.splat(1 + growBy * Mathf.log(<f32>steps))
    const end = queries + <usize>share * headBytes
    for (let p = queries; p < end; p += 16) v128.store(p, f32x4.mul(v128.load(p), growth))
  }
  if (Rope.queriesOnly(args)) return
  turn(k, 1, Rope.keyNorm(args), angles, d, eps)
  const keys = Rope.keys(args) + <usize>head * Rope.keyHeadBytes(args) + page * keptBytes<T>(d)
  const values = Rope.values(args) + <usize>head * Rope.valueHeadBytes(args) + page * keptBytes<T>((d + 15) & ~15)
  const v = k + <usize>keyHeads * headBytes
  const slot = position & 15
  const fit = isPacked<T>()
    ? writeBlocks<T>(k, v, keys, values, slot, d)
    : writeKeyValue<T>(k, v, keys, values, slot, d)
  if (!fit) {
    atomic.or<u32>(Rope.overflows(args) + (page << 2), 1 << slot)
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
