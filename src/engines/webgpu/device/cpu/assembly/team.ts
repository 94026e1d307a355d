/**
 * Threads that run one program together. Thread 0 is the caller; the others wait in `serve` for its next program.
 * The control block, 16 words: programs started, program, operations, threads, arrived, barriers passed, closing,
 * threads asleep, whether thread 0 may sleep.
 */
import { runOperation } from './operations'

const STARTED: usize = 0
const PROGRAM: usize = 4
const OPERATIONS: usize = 8
const THREADS: usize = 12
const ARRIVED: usize = 16
const PASSED: usize = 20
const CLOSING: usize = 24
const ASLEEP: usize = 28
const MAY_SLEEP: usize = 32

/** An operation: code, next item, items at a time, items, then its arguments. */
const OPERATION_BYTES: usize = 96
const HEADER_BYTES: usize = 16

/** About 20 microseconds: longer than most operations last, far shorter than a wake-up of a sleeping thread costs. */
const SPINS: i32 = 4000
const FOREVER: i64 = -1

/** Until the word at `p` is no longer `value`: first awake, then asleep. */
function awaitChange(control: usize, p: usize, value: i32, maySleep: bool): void {
  for (let i = 0; i < SPINS; i++) {
    if (atomic.load<i32>(p) !== value) return
  }
  while (atomic.load<i32>(p) === value) {
    if (!maySleep) continue
    atomic.add<i32>(control, 1, ASLEEP)
    atomic.wait<i32>(p, value, FOREVER)
    atomic.sub<i32>(control, 1, ASLEEP)
  }
}

function wake(control: usize, p: usize): void {
  if (atomic.load<i32>(control, ASLEEP) !== 0) atomic.notify(p, -1)
}

function barrier(control: usize, threads: i32, maySleep: bool): void {
  if (threads === 1) return
  const passed = atomic.load<i32>(control, PASSED)
  if (atomic.add<i32>(control, 1, ARRIVED) === threads - 1) {
    atomic.store<i32>(control, 0, ARRIVED)
    atomic.store<i32>(control, passed + 1, PASSED)
    wake(control, control + PASSED)
  } else {
    awaitChange(control, control + PASSED, passed, maySleep)
  }
}

/** Items are handed out a few at a time, so that a thread that the system holds up delays nobody. */
function work(control: usize, thread: i32, maySleep: bool): void {
  const threads = load<i32>(control, THREADS)
  let operation = <usize>load<u32>(control, PROGRAM)
  const end = operation + <usize>load<i32>(control, OPERATIONS) * OPERATION_BYTES
  for (; operation < end; operation += OPERATION_BYTES) {
    const code = load<i32>(operation)
    const chunk = load<i32>(operation, 8)
    const items = load<i32>(operation, 12)
    let from = threads === 1 ? 0 : atomic.add<i32>(operation, chunk, 4)
    while (from < items) {
      const to = threads === 1 ? items : min(from + chunk, items)
      runOperation(code, operation + HEADER_BYTES, from, to, thread)
      from = threads === 1 ? items : atomic.add<i32>(operation, chunk, 4)
    }
    barrier(control, threads, maySleep)
  }
}

/** Runs a program on this thread alone (`threads` 1) or on the whole team. */
export function run(control: usize, program: usize, operations: i32, threads: i32): void {
  store<u32>(control, <u32>program, PROGRAM)
  store<i32>(control, operations, OPERATIONS)
  store<i32>(control, threads, THREADS)
  if (threads > 1) {
    atomic.add<i32>(control, 1, STARTED)
    wake(control, control + STARTED)
  }
  work(control, 0, load<i32>(control, MAY_SLEEP) !== 0)
}

/** What a worker thread does until the team is closed. Every serving thread takes part in every shared program. */
export function serve(control: usize, thread: i32): void {
  let started = 0
  while (true) {
    awaitChange(control, control + STARTED, started, true)
    if (atomic.load<i32>(control, CLOSING) !== 0) return
    started = atomic.load<i32>(control, STARTED)
    work(control, thread, true)
  }
}

/** Lets every serving thread return. */
export function dismiss(control: usize): void {
  atomic.store<i32>(control, 1, CLOSING)
  atomic.add<i32>(control, 1, STARTED)
  atomic.notify(control + STARTED, -1)
}
