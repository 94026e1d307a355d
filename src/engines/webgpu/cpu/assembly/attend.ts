/** Attention as an operation: pairs up the queries that read the same keys and values. */
import { attendOne, attendTwo } from './attention'
import { float, pointer, word } from './words'

/**
 * qkv, its stride, out, its stride, heads, key heads, d, keys, values, bytes of a page of keys and of values,
 * the last position that each row sees, its page list, the first that it sees or 0, scale, room, bytes of it for each thread, 1 if the cache is in f16
 * and 2 if tokens are paired, not heads, rows, cap of scores or 0. Items: a head of two tokens, or two heads that share their keys; what has no
 * other half stands alone.
 */
export function attend(args: usize, from: i32, to: i32, thread: i32): void {
  const room = pointer(args, 15) + <usize>thread * pointer(args, 16)
  const half = (word(args, 17) & 1) !== 0
  for (let item = from; item < to; item++) {
    if ((word(args, 17) & 2) !== 0) tokenPair(args, item, room, half)
    else headPair(args, item, room, half)
  }
}

function tokenPair(args: usize, item: i32, room: usize, half: bool): void {
  const heads = word(args, 4)
  const head = item % heads
  const row = (item / heads) << 1
  const lists = pointer(args, 12) + ((<usize>row) << 2)
  const another = row + 1 < word(args, 18)
  // Rows of one sequence have the same list.
  const together = another && load<u32>(lists) === load<u32>(lists, 4)
  query(args, row, head, together ? 1 : 0, 0, room, half)
  if (another && !together) query(args, row + 1, head, 0, 0, room, half)
}

function headPair(args: usize, item: i32, room: usize, half: bool): void {
  const keyHeads = word(args, 5)
  const share = word(args, 4) / keyHeads
  const pairs = (share + 1) >> 1
  const pair = item % (pairs * keyHeads)
  const member = (pair % pairs) << 1
  const head = (pair / pairs) * share + member
  query(args, item / (pairs * keyHeads), head, 0, member + 1 < share ? 1 : 0, room, half)
}

/** One query, and with it that of the next row or of the next head, if `nextRow` or `nextHead` is 1. */
function query(args: usize, row: i32, head: i32, nextRow: i32, nextHead: i32, room: usize, half: bool): void {
  if (half) queryAs<u16>(args, row, head, nextRow, nextHead, room)
  else queryAs<f32>(args, row, head, nextRow, nextHead, room)
}

function queryAs<T>(args: usize, row: i32, head: i32, nextRow: i32, nextHead: i32, room: usize): void {
  const d = word(args, 6)
  const headBytes = (<usize>d) << 2
  const keyHead = <usize>(head / (word(args, 4) / word(args, 5)))
  const q = pointer(args, 0) + <usize>row * pointer(args, 1) + <usize>head * headBytes
  const out = pointer(args, 2) + <usize>row * pointer(args, 3) + <usize>head * headBytes
  const keys = pointer(args, 7) + keyHead * <usize>d * 16 * sizeof<T>()
  const values = pointer(args, 8) + keyHead * <usize>((d + 15) >> 4) * 256 * sizeof<T>()
  const pages = <usize>load<u32>(pointer(args, 12) + ((<usize>row) << 2))
  const lasts = pointer(args, 11) + ((<usize>row) << 2)
  const last = load<i32>(lasts) + 1
  const first = firstOf(args, row)
  const scale = float(args, 14)
  const cap = float(args, 19)
  const keyPage = pointer(args, 9)
  const valuePage = pointer(args, 10)
  if (nextRow + nextHead === 0) {
    attendOne<T>(q, out, keys, keyPage, values, valuePage, pages, first, last, d, scale, cap, room)
    return
  }
  const next = load<i32>(lasts + ((<usize>nextRow) << 2)) + 1
  attendTwo<T>(
    q,
    <usize>nextRow * pointer(args, 1) + <usize>nextHead * headBytes,
    out,
    <usize>nextRow * pointer(args, 3) + <usize>nextHead * headBytes,
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
    room,
    pointer(args, 16) >> 1,
  )
}

/** The first position that a row sees. */
function firstOf(args: usize, row: i32): i32 {
  const firsts = pointer(args, 13)
  return firsts === 0 ? 0 : load<i32>(firsts + ((<usize>row) << 2))
}
