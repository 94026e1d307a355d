/** Attention as an operation: pairs up the queries that read the same keys and values. */
import { Attend, CACHE_F16, CACHE_Q8_0 } from '../../cpu/assembly/abi'
import { attendOne, attendTwo } from '../../cpu/assembly/attention'
import { holdOverflow, keptBytes } from '../../cpu/assembly/cache-page'

export function attend(args: usize, from: i32, to: i32, thread: i32): void {
  const room = Attend.room(args) + <usize>thread * Attend.roomGap(args)
  const kept = Attend.kept(args)
  for (let item = from; item < to; item++) {
    if (Attend.pairsTokens(args)) tokenPair(args, item, room, kept)
    else headPair(args, item, room, kept)
  }
}

function tokenPair(args: usize, item: i32, room: usize, kept: i32): void {
  const heads = Attend.heads(args)
  const head = item % heads
  const row = (item / heads) << 1
  const lists = Attend.lists(args) + ((<usize>row) << 2)
  const another = row + 1 < Attend.rows(args)
  // Rows of one sequence have the same list.
  const together = another && load<u32>(lists) === load<u32>(lists, 4)
  query(args, row, head, together ? 1 : 0, 0, room, kept)
  if (another && !together) query(args, row + 1, head, 0, 0, room, kept)
}

function headPair(args: usize, item: i32, room: usize, kept: i32): void {
  const keyHeads = Attend.keyHeads(args)
  const share = Attend.heads(args) / keyHeads
  const pairs = (share + 1) >> 1
  const pair = item % (pairs * keyHeads)
  const member = (pair % pairs) << 1
  const head = (pair / pairs) * share + member
  const at = item / (pairs * keyHeads)
  const read = Attend.read(args)
  const row = read === 0 ? at : load<i32>(read + ((<usize>at) << 2))
  query(args, row, head, 0, member + 1 < share ? 1 : 0, room, kept)
}

/** One query, and with it that of the next row or of the next head, if `nextRow` or `nextHead` is 1. */
function query(args: usize, row: i32, head: i32, nextRow: i32, nextHead: i32, room: usize, kept: i32): void {
  if (kept === CACHE_F16) queryAs<u16>(args, row, head, nextRow, nextHead, room)
  else if (kept === CACHE_Q8_0) queryAs<i8>(args, row, head, nextRow, nextHead, room)
  else queryAs<f32>(args, row, head, nextRow, nextHead, room)
}

function queryAs<T>(args: usize, row: i32, head: i32, nextRow: i32, nextHead: i32, room: usize): void {
  const d = Attend.headSize(args)
  const headBytes = (<usize>d) << 2
  const keyHead = <usize>(head / (Attend.heads(args) / Attend.keyHeads(args)))
  const q = Attend.qkv(args) + <usize>row * Attend.stride(args) + <usize>head * headBytes
  const out = Attend.out(args) + <usize>row * Attend.outStride(args) + <usize>head * headBytes
  const keys = Attend.keys(args) + keyHead * keptBytes<T>(d)
  const values = Attend.values(args) + keyHead * keptBytes<T>((d + 15) & ~15)
  const pages = <usize>load<u32>(Attend.lists(args) + ((<usize>row) << 2))
  const lasts = Attend.lasts(args) + ((<usize>row) << 2)
  const last = load<i32>(lasts) + 1
  const first = firstOf(args, row)
  const scale = Attend.scale(args)
  const cap = Attend.cap(args)
  const overflows = sizeof<T>() < 4 ? Attend.overflows(args) : 0
  const keyPage = Attend.keyPageBytes(args)
  const valuePage = Attend.valuePageBytes(args)
  if (nextRow + nextHead === 0) {
    if (overflows !== 0 && holdOverflow(overflows, pages, first, last)) {
      forgo(out, d)
      return
    }
    attendOne<T>(q, out, keys, keyPage, values, valuePage, pages, first, last, d, scale, cap, sinkOf(args, head), room)
    return
  }
  const next = load<i32>(lasts + ((<usize>nextRow) << 2)) + 1
  if (overflows !== 0 && holdOverflow(overflows, pages, min(first, firstOf(args, row + nextRow)), max(last, next))) {
    queryAs<T>(args, row, head, 0, 0, room)
    queryAs<T>(args, row + nextRow, head + nextHead, 0, 0, room)
    return
  }
  attendTwo<T>(
    q,
    <usize>nextRow * Attend.stride(args) + <usize>nextHead * headBytes,
    out,
    <usize>nextRow * Attend.outStride(args) + <usize>nextHead * headBytes,
    keys,
    keyPage,
    values,
    valuePage,
    pages,
    first,
    last,
    firstOf(args, row + nextRow) - first,
    next - last,
    d,
    scale,
    cap,
    sinkOf(args, head),
    sinkOf(args, head + nextHead),
    room,
    Attend.roomGap(args) >> 1,
  )
}

/** No answer is better than one from other keys and values: it comes out as logits that are no numbers. */
function forgo(out: usize, d: i32): void {
  for (const end = out + ((<usize>d) << 2); out < end; out += 16) v128.store(out, f32x4.splat(NaN))
}

/** What a head's softmax has beside its scores; what nothing comes of where it has nothing. */
function sinkOf(args: usize, head: i32): f32 {
  const sinks = Attend.sinks(args)
  return sinks === 0 ? -Infinity : load<f32>(sinks + ((<usize>head) << 2))
}

/** The first position that a row sees. */
function firstOf(args: usize, row: i32): i32 {
  const firsts = Attend.firsts(args)
  return firsts === 0 ? 0 : load<i32>(firsts + ((<usize>row) << 2))
}
