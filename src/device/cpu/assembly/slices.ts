/** Who does which items of an operation, and when it is whole. */
import { OPERATION_BYTES, SLICE_BYTES, SLICES, WORK } from './abi'
import { CURRENT, DONE, OPERATIONS, PROGRAM, STALLED, THREADS } from './control'
import {
  chunkOf,
  isPrivate,
  isShared,
  itemsOf,
  runItems,
  runPrivate,
  runWhole,
  unitOf,
  weightsOf,
  weightsOfItem,
} from './program'

/** Weights that a waiting thread fetches at most: they should still be there when it gets to them. */
const AHEAD: usize = 131072
const LINE: usize = 64

function programOf(control: usize): usize {
  return <usize>load<u32>(control, PROGRAM)
}

function operationAt(control: usize, index: i32): usize {
  return programOf(control) + <usize>index * OPERATION_BYTES
}

/** Where slice `thread` begins: where the one before it ends. */
function sliceStart(operation: usize, thread: i32, threads: i32): i32 {
  const items = itemsOf(operation)
  if (thread === threads) return items
  const unit = unitOf(operation)
  return <i32>((<i64>items * thread) / (<i64>threads * unit)) * unit
}

/**
 * The next chunk of a slice, or -1. The word says for which operation chunks were last taken, counted from 1, and how
 * many; that of an earlier one says that none were. As operations are counted up, no chunk is handed out twice, and none
 * of an operation that is over, to whomever and however late.
 */
function claim(word: usize, turn: i32, chunks: i32): i32 {
  let seen = atomic.load<i32>(word)
  while (true) {
    const at = seen >> 16
    const chunk = at === turn ? seen & 0xffff : 0
    if (at > turn || chunk >= chunks) return -1
    const found = atomic.cmpxchg<i32>(word, seen, (turn << 16) | (chunk + 1))
    if (found === seen) return chunk
    seen = found
  }
}

/**
 * Does chunks of a slice until none is left; returns how many items these were. Nothing is written before a chunk is
 * claimed, because only that keeps the operation, and all the memory that it uses, from being over. `ready`: the thread
 * has done before what it does for itself.
 */
function runSlice(control: usize, index: i32, slice: i32, thread: i32, ready: bool): i32 {
  const operation = operationAt(control, index)
  const threads = load<i32>(control, THREADS)
  const chunk = chunkOf(operation)
  const start = sliceStart(operation, slice, threads)
  const end = sliceStart(operation, slice + 1, threads)
  const chunks = (end - start + chunk - 1) / chunk
  const word = control + SLICES + <usize>slice * SLICE_BYTES
  let done = 0
  for (let i = claim(word, index + 1, chunks); i >= 0; i = claim(word, index + 1, chunks)) {
    if (!ready) runPrivate(programOf(control), operation, thread)
    ready = true
    const from = start + i * chunk
    const to = min(from + chunk, end)
    runItems(operation, from, to, thread)
    done += to - from
  }
  if (done > 0) {
    const count = control + SLICES + <usize>thread * SLICE_BYTES
    store<i32>(count, load<i32>(count, WORK) + done, WORK)
  }
  return done
}

/** The thread's own slice of operation `index`: how many items of it were left. */
export function runOwn(control: usize, index: i32, thread: i32): i32 {
  return runSlice(control, index, thread, thread, false)
}

/** What others have left. */
export function runOthers(control: usize, index: i32, thread: i32, ready: bool): i32 {
  const threads = load<i32>(control, THREADS)
  let done = 0
  for (let i = 1; i < threads; i++) {
    done += runSlice(control, index, (thread + i) % threads, thread, ready || done > 0)
  }
  return done
}

/** Counts items as done. With the last of an operation everybody is moved on, and true returned. */
export function finish(control: usize, index: i32, done: i32, thread: i32): bool {
  if (done === 0) return false
  if (atomic.add<i32>(control, done, DONE) + done < itemsOf(operationAt(control, index))) return false
  const next = runSmall(control, index + 1, thread)
  atomic.store<i32>(control, 0, DONE)
  atomic.store<i32>(control, next, CURRENT)
  if (atomic.load<i32>(control, STALLED) !== 0) atomic.notify(control + CURRENT, -1)
  return true
}

/** Runs operations from `index` on until one that is shared, and returns that one's index. */
export function runSmall(control: usize, index: i32, thread: i32): i32 {
  const operations = load<i32>(control, OPERATIONS)
  for (; index < operations; index++) {
    const operation = operationAt(control, index)
    if (isShared(operation)) break
    if (isPrivate(operation)) continue
    runPrivate(programOf(control), operation, thread)
    runWhole(operation, thread)
  }
  return index
}

/**
 * Fetches the first of the thread's weights of the next product, for as long as operation `index` takes: memory has
 * nothing else to do meanwhile. Returns a sum of them, so that no compiler leaves it out.
 */
export function fetchAhead(control: usize, index: i32, thread: i32): i32 {
  const operations = load<i32>(control, OPERATIONS)
  const threads = load<i32>(control, THREADS)
  const current = index
  let sum = 0
  while (++index < operations && !isShared(operationAt(control, index))) {}
  if (index >= operations) return sum
  const operation = operationAt(control, index)
  const bytes = weightsOfItem(operation)
  const start = sliceStart(operation, thread, threads)
  const all = <usize>(sliceStart(operation, thread + 1, threads) - start) * bytes
  let p = weightsOf(operation) + <usize>start * bytes
  for (const end = p + min(all, AHEAD); p < end; p += LINE) {
    if (atomic.load<i32>(control, CURRENT) !== current) break
    sum += load<i32>(p)
  }
  return sum
}

/** Nothing of the program that is about to begin has been handed out. */
export function resetSlices(control: usize, threads: i32): void {
  for (let i: usize = 0; i < <usize>threads; i++) atomic.store<i32>(control + i * SLICE_BYTES, 0, SLICES)
  atomic.store<i32>(control, 0, DONE)
}
