/**
 * The gated product of a layer: gates and values are multiplied, joined and brought into the form of the next product by
 * one thread, a few columns at a time, so that they never leave its cache.
 */

import { BLOCK, GATED_ROOM, Gated, GROUP } from './abi'
import { gateMul } from './elementwise'
import { multiply } from './matmul'
import { prepareColumns } from './prepare'

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
