/** Attention as an operation: brings together the queries that read the same keys and values. */
import { Attend, CACHE_F16, CACHE_Q4_0, CACHE_Q8_0 } from '../../cpu/assembly/abi'
import { attendTogether } from '../../cpu/assembly/attention'
import { holdOverflow } from '../../cpu/assembly/cache-page'

export function attend(args: usize, from: i32, to: i32, thread: i32): void {
  const room = Attend.room(args) + <usize>thread * Attend.roomGap(args)
  for (let item = from; item < to; item++) {
    if (Attend.ofTokens(args)) tokens(args, item, room)
    else heads(args, item, room)
  }
}

function tokens(args: usize, item: i32, room: usize): void {
  const together = Attend.together(args)
  const queries = Attend.heads(args)
  let row = (item / queries) * together
  const end = min(row + together, Attend.rows(args))
  while (row < end) {
    const list = Attend.lists(args) + ((<usize>row) << 2)
    // Rows of one sequence have the same list.
    let count = 1
    while (row + count < end && load<u32>(list) === load<u32>(list + ((<usize>count) << 2))) count++
    some(args, row, item % queries, 1, count, room)
    row += count
  }
}

function heads(args: usize, item: i32, room: usize): void {
  const together = Attend.together(args)
  const keyHeads = Attend.keyHeads(args)
  const share = Attend.heads(args) / keyHeads
  const parts = (share + together - 1) / together
  const part = item % (parts * keyHeads)
  const member = (part % parts) * together
  const at = item / (parts * keyHeads)
  const read = Attend.read(args)
  const row = read === 0 ? at : load<i32>(read + ((<usize>at) << 2))
  some(args, row, (part / parts) * share + member, 0, min(together, share - member), room)
}

/** `count` queries from that of a row and a head on: of as many rows, if `ofRows` is 1, or else of as many heads. */
function some(args: usize, row: i32, head: i32, ofRows: i32, count: i32, room: usize): void {
  const kept = Attend.kept(args)
  if (kept === CACHE_F16) someAs<u16>(args, row, head, ofRows, count, room)
  else if (kept === CACHE_Q8_0) someAs<i8>(args, row, head, ofRows, count, room)
  else if (kept === CACHE_Q4_0) someAs<u8>(args, row, head, ofRows, count, room)
  else someAs<f32>(args, row, head, ofRows, count, room)
}

function someAs<T>(args: usize, row: i32, head: i32, ofRows: i32, count: i32, room: usize): void {
  if (sizeof<T>() < 4 && seesOverflow(args, row, ofRows === 1 ? row + count - 1 : row)) {
    if (count === 1) forgo(args, row, head)
    else for (let i = 0; i < count; i++) someAs<T>(args, row + i * ofRows, head + i * (1 - ofRows), 0, 1, room)
    return
  }
  if (count === 4) attendAs<T, u64>(args, row, head, ofRows, room)
  else if (count === 3) attendAs<T, u32>(args, row, head, ofRows, room)
  else if (count === 2) attendAs<T, u16>(args, row, head, ofRows, room)
  else attendAs<T, u8>(args, row, head, ofRows, room)
}

function attendAs<T, N>(args: usize, row: i32, head: i32, ofRows: i32, room: usize): void {
  const headBytes = (<usize>Attend.headSize(args)) << 2
  const keyHead = <usize>(head / (Attend.heads(args) / Attend.keyHeads(args)))
  const at = (<usize>row) << 2
  const firsts = Attend.firsts(args)
  const sinks = Attend.sinks(args)
  attendTogether<T, N>(
    Attend.qkv(args) + <usize>row * Attend.stride(args) + <usize>head * headBytes,
    ofRows === 1 ? Attend.stride(args) : headBytes,
    Attend.out(args) + <usize>row * Attend.outStride(args) + <usize>head * headBytes,
    ofRows === 1 ? Attend.outStride(args) : headBytes,
    Attend.keys(args) + keyHead * Attend.keyHeadBytes(args),
    Attend.values(args) + keyHead * Attend.valueHeadBytes(args),
    <usize>load<u32>(Attend.lists(args) + at),
    firsts === 0 ? 0 : firsts + at,
    Attend.lasts(args) + at,
    ofRows === 1 ? 4 : 0,
    Attend.headSize(args),
    Attend.scale(args),
    Attend.cap(args),
    sinks === 0 ? 0 : sinks + ((<usize>head) << 2),
    ofRows === 1 ? 0 : 4,
    room,
  )
}

/** Whether any of the positions that rows `row` to `end` of a sequence see holds what cannot be kept. */
function seesOverflow(args: usize, row: i32, end: i32): bool {
  const firsts = Attend.firsts(args)
  const at = (<usize>row) << 2
  const first = firsts === 0 ? 0 : load<i32>(firsts + at)
  const last = load<i32>(Attend.lasts(args) + ((<usize>end) << 2)) + 1
  return holdOverflow(Attend.overflows(args), <usize>load<u32>(Attend.lists(args) + at), first, last)
}

/** No answer is better than one from other keys and values: it comes out as logits that are no numbers. */
function forgo(args: usize, row: i32, head: i32): void {
  const bytes = (<usize>Attend.headSize(args)) << 2
  const out = Attend.out(args) + <usize>row * Attend.outStride(args) + <usize>head * bytes
  for (let p = out; p < out + bytes; p += 16) v128.store(p, f32x4.splat(NaN))
}
