import { Activate, BLOCK, GATED_ROOM, Gated, GROUP, Matmul } from '../../cpu/assembly/abi'
import { addBias, gateMul } from '../../cpu/assembly/elementwise'
import { multiply } from '../../cpu/assembly/matmul'
import { prepare, prepareColumns } from '../../cpu/assembly/prepare'

export function matmul(args: usize, from: i32, to: i32, thread: i32): void {
  const x = Matmul.x(args) + <usize>thread * Matmul.xGap(args)
  const y = Matmul.y(args)
  const yStride = Matmul.yStride(args)
  const n = Matmul.rows(args)
  const tokens = Matmul.tokens(args)
  const planes = Matmul.unpacked(args) + <usize>thread * Matmul.unpackedGap(args)
  multiply(args, x, y, yStride, from, to, n, Matmul.columns(args), tokens, Matmul.add(args), planes)
  const bias = Matmul.bias(args)
  if (bias === 0) return
  const first = (<usize>(from * GROUP)) << 2
  const rows = min(to * GROUP, n) - from * GROUP
  for (let t: usize = 0; t < <usize>tokens; t++) addBias(y + t * yStride + first, bias + first, rows)
}

/**
 * The gated product of a layer: gates and values are multiplied, joined and brought into the form of the next product by
 * one thread, a few columns at a time, so that they never leave its cache.
 */
export function gated(args: usize, from: i32, to: i32, thread: i32): void {
  const x = Gated.x(args) + <usize>thread * Gated.xGap(args)
  const columns = Gated.rows(args)
  const k = Gated.columns(args)
  const tokens = Gated.tokens(args)
  const planes = Gated.room(args) + <usize>thread * Gated.roomGap(args)
  const outStride = Gated.yStride(args)
  // So many items at a time: all gates, then all values, so that weights are read in long runs.
  const most = max(1, GATED_ROOM / (tokens * BLOCK * 8))
  for (; from < to; from += most) {
    const width = min(most, to - from) * BLOCK
    const bytes = (<usize>width) << 2
    const first = from * BLOCK
    const g = first / GROUP
    const u = g + columns / GROUP
    const groups = width / GROUP
    // The product writes where its rows stand in the whole.
    const gates = planes + Gated.unpackedBytes(args) - ((<usize>first) << 2)
    const ups = gates + bytes - ((<usize>columns) << 2)
    multiply(args, x, gates, bytes * 2, g, g + groups, 2 * columns, k, tokens, false, planes)
    multiply(args, x, ups, bytes * 2, u, u + groups, 2 * columns, k, tokens, false, planes)
    const out = Gated.y(args) + ((<usize>first) << 2)
    gateMul(Gated.gate(args), planes + Gated.unpackedBytes(args), out, outStride, 0, tokens, width)
    for (let i = 0; i < width / BLOCK; i++) {
      const block = out + ((<usize>(i * BLOCK)) << 2)
      prepareColumns(
        Gated.preparedKind(args),
        block,
        outStride,
        Gated.prepared(args),
        Gated.preparedStride(args),
        tokens,
        from + i,
      )
    }
  }
}

export function activate(args: usize, from: i32, to: i32, _thread: i32): void {
  const k = Activate.columns(args)
  const out = Activate.out(args)
  const stride = Activate.outStride(args)
  gateMul(Activate.gate(args), Activate.x(args), out, stride, from, to, k)
  prepare(Activate.preparedKind(args), out, stride, Activate.prepared(args), from, to, k)
}
