/**
 * The gated product of a layer: gates and values are multiplied, joined and brought into the form of the next product by
 * one thread, a few columns at a time, so that they never leave its cache.
 */
import { gateMul } from './elementwise'
import { BLOCK, GROUP } from './layout'
import { multiply } from './matmul'
import { prepareColumns } from './prepare'
import { pointer, word } from './words'

/** Bytes of gates and values that are computed before they are joined; a single item of all tokens may take more. */
const ROOM: i32 = 16384

/**
 * kind, matrix, x, its stride, out, its stride, columns, k, tokens, prepared, its stride, its kind, room of a thread,
 * its bytes, bytes of it for a group of rows in 16 bits, bytes from one thread's x to the next's, its gate.
 * Items: 32 columns.
 */
export function gated(args: usize, from: i32, to: i32, thread: i32): void {
  const x = pointer(args, 2) + <usize>thread * pointer(args, 15)
  const columns = word(args, 6)
  const k = word(args, 7)
  const tokens = word(args, 8)
  const planes = pointer(args, 12) + <usize>thread * pointer(args, 13)
  const outStride = pointer(args, 5)
  // So many items at a time: all gates, then all values, so that weights are read in long runs.
  const most = max(1, ROOM / (tokens * BLOCK * 8))
  for (; from < to; from += most) {
    const width = min(most, to - from) * BLOCK
    const bytes = (<usize>width) << 2
    const first = from * BLOCK
    const g = first / GROUP
    const u = g + columns / GROUP
    const groups = width / GROUP
    // The product writes where its rows stand in the whole.
    const gates = planes + pointer(args, 14) - ((<usize>first) << 2)
    const ups = gates + bytes - ((<usize>columns) << 2)
    multiply(args, x, gates, bytes * 2, g, g + groups, 2 * columns, k, tokens, false, planes)
    multiply(args, x, ups, bytes * 2, u, u + groups, 2 * columns, k, tokens, false, planes)
    const out = pointer(args, 4) + ((<usize>first) << 2)
    gateMul(word(args, 16), planes + pointer(args, 14), out, outStride, 0, tokens, width)
    for (let i = 0; i < width / BLOCK; i++) {
      const block = out + ((<usize>(i * BLOCK)) << 2)
      prepareColumns(word(args, 11), block, outStride, pointer(args, 9), pointer(args, 10), tokens, from + i)
    }
  }
}
