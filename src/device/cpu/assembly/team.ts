/**
 * Threads that follow one program together, operation by operation: each is whole before the next begins.
 *
 * Thread 0 is the caller; the others wait at the gate for its next program and come in when they can. An operation's
 * items are cut into a slice for each thread, the same every time, so that what a thread writes stays in its cache; who
 * is through with his own helps with what others have left. So nobody is waited for who is not at work: a thread that is
 * asleep, or that the system holds up, only misses work. Who does the last of an operation runs the small ones after it
 * and moves everybody on.
 */
import { MAY_SLEEP, OPERATION_BYTES, SLICE_BYTES, SPINS } from './abi'
import {
  CLOSED,
  CURRENT,
  END,
  FAILED,
  FETCHED,
  GATE,
  GENERATION,
  GENERATION_BITS,
  IDLE,
  MEMBERS,
  OPEN,
  OPERATIONS,
  PROGRAM,
  STALLED,
  THREADS,
} from './control'
import { runWhole } from './program'
import { fetchAhead, finish, resetSlices, runOthers, runOwn, runSmall } from './slices'

/** Looks at a word before a thread helps others: they are about as far, and their lines of memory had to come over. */
const PATIENCE: i32 = 200
/** A sleeping thread looks up once a second, in nanoseconds. */
const SECOND: i64 = 1000000000
/** Seconds without anything done after which a thread counts as dead. */
const PATIENCE_SECONDS: i32 = 60
/** Looks of a thread that may not sleep that last about as long. */
const PATIENCE_LOOKS: i64 = 1 << 35
/** `CURRENT` when nothing follows any more. */
const OVER: i32 = i32.MAX_VALUE

/** What `follow` returns at the end of a program; else the operation at which it gave up. */
const ENDED: i32 = -1

/** Sleeps while the word is `value`, at most a second or, at the gate, until it is woken. Returns whether it was in vain. */
function sleep(control: usize, offset: usize, value: i32, counter: usize, nanoseconds: i64): bool {
  atomic.add<i32>(control + counter, 1)
  const slept = atomic.wait<i32>(control + offset, value, nanoseconds)
  atomic.sub<i32>(control + counter, 1)
  return slept === 2
}

/** Follows the program from wherever it is now. A worker gives up, and may come again, when it has waited too long. */
function follow(control: usize, thread: i32): i32 {
  const operations = load<i32>(control, OPERATIONS)
  for (let index = atomic.load<i32>(control, CURRENT); index < operations; index = atomic.load<i32>(control, CURRENT)) {
    const done = runOwn(control, index, thread)
    if (finish(control, index, done, thread)) continue
    store<i32>(control + <usize>thread * SLICE_BYTES, fetchAhead(control, index, thread), FETCHED)
    if (!stays(control, index, PATIENCE)) continue
    if (finish(control, index, runOthers(control, index, thread, done > 0), thread)) continue
    if (!stays(control, index, load<i32>(control, SPINS))) continue
    if (thread !== 0 || !outwait(control, index)) return index
  }
  return ENDED
}

/** Whether operation `index` is still the current one after so many looks. */
function stays(control: usize, index: i32, looks: i32): bool {
  for (let i = 0; i < looks; i++) {
    if (atomic.load<i32>(control, CURRENT) !== index) return false
  }
  return atomic.load<i32>(control, CURRENT) === index
}

/** Thread 0 waits until the operation is whole, asleep if it may; not for ever, because a worker may have been ended. */
function outwait(control: usize, index: i32): bool {
  if (load<i32>(control, MAY_SLEEP) === 0) {
    for (let i: i64 = 0; i < PATIENCE_LOOKS; i++) {
      if (atomic.load<i32>(control, CURRENT) !== index) return true
    }
    return false
  }
  let seconds = 0
  while (atomic.load<i32>(control, CURRENT) === index) {
    if (sleep(control, CURRENT, index, STALLED, SECOND) && ++seconds === PATIENCE_SECONDS) return false
  }
  return true
}

/** Runs a program on this thread alone. */
export function run(program: usize, operations: i32): void {
  const end = program + <usize>operations * OPERATION_BYTES
  for (; program < end; program += OPERATION_BYTES) runWhole(program, 0)
}

/**
 * Whether nobody looks at the last shared program any more, so that its memory may change. Workers leave within a
 * microsecond, except one that the system has taken the core from: rather than wait for it, run alone.
 */
export function isSettled(control: usize): bool {
  for (let i = 0; i < PATIENCE; i++) {
    if ((atomic.load<i32>(control, GATE) & MEMBERS) === 0) return true
  }
  return false
}

/** Runs a program on the whole team, which must be settled. False: a thread has failed, and nothing is sure any more. */
export function runTogether(control: usize, program: usize, operations: i32, threads: i32): bool {
  store<u32>(control, <u32>program, PROGRAM)
  store<i32>(control, operations, OPERATIONS)
  store<i32>(control, threads, THREADS)
  const first = runSmall(control, 0, 0)
  if (first < operations) {
    resetSlices(control, threads)
    atomic.store<i32>(control, first, CURRENT)
    atomic.add<i32>(control, GENERATION + OPEN, GATE)
    if (atomic.load<i32>(control, IDLE) !== 0) atomic.notify(control + GATE, -1)
    if (follow(control, 0) !== ENDED) fail(control)
    atomic.and<i32>(control, ~OPEN, GATE)
  }
  return atomic.load<i32>(control, END) === 0
}

/** What a worker does until the team ends. */
export function serve(control: usize, thread: i32): void {
  let followed = 0
  while (atomic.load<i32>(control, END) === 0) {
    // Read before anything is decided: whatever happens later changes it, and ends the wait below.
    const gate = atomic.load<i32>(control, GATE)
    const generation = gate >>> GENERATION_BITS
    if ((gate & OPEN) === 0 || generation === followed || thread >= load<i32>(control, THREADS)) {
      waitAtGate(control, gate)
    } else if (atomic.cmpxchg<i32>(control, gate, gate + 1, GATE) === gate) {
      const index = follow(control, thread)
      // Nothing of the program may be looked at from here on.
      atomic.sub<i32>(control, 1, GATE)
      if (index === ENDED) followed = generation
      else sleep(control, CURRENT, index, STALLED, SECOND)
    }
  }
}

function waitAtGate(control: usize, gate: i32): void {
  const looks = load<i32>(control, SPINS)
  for (let i = 0; i < looks; i++) {
    if (atomic.load<i32>(control, GATE) !== gate) return
  }
  sleep(control, GATE, gate, IDLE, -1)
}

/** Lets every worker return. */
export function dismiss(control: usize): void {
  end(control, CLOSED)
}

/** One thread cannot go on, so nobody can: the others stop waiting for it. */
export function fail(control: usize): void {
  end(control, FAILED)
}

function end(control: usize, why: i32): void {
  atomic.store<i32>(control, why, END)
  // Both words change, so that who was about to fall asleep stays awake.
  atomic.store<i32>(control, OVER, CURRENT)
  atomic.add<i32>(control, GENERATION, GATE)
  atomic.notify(control + CURRENT, -1)
  atomic.notify(control + GATE, -1)
}
