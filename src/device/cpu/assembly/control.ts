/**
 * The block of memory by which threads speak; `abi.ts` has what the device writes into it, and where the threads' lines begin. What is written at different
 * times stands 128 bytes apart: caches fetch lines of 64 in pairs.
 */
import { SLICES } from './abi'

/** Whether a program may be joined, how many workers have joined it, and which it is: the bits are named below. */
export const GATE: usize = 0
/** The operation that is being done. */
export const CURRENT: usize = 128
/** Items of it that are done. */
export const DONE: usize = 256
/** What is being followed. */
export const PROGRAM: usize = 384
export const OPERATIONS: usize = 388
export const THREADS: usize = 392
/** Threads asleep at the gate, and within a program. */
export const IDLE: usize = 512
export const STALLED: usize = 516
/** 0, or why nobody follows anything any more. */
export const END: usize = 640
/**
 * At `SLICES` for each thread, how far its slice of the current operation is handed out; beside it, for nobody to read,
 * what the thread fetched ahead.
 */
export const FETCHED: usize = SLICES + 64

/** `GATE`: workers that are in, whether more may come in, and which program it is. */
export const MEMBERS: i32 = (1 << 9) - 1
export const OPEN: i32 = 1 << 9
export const GENERATION: i32 = 1 << 10
export const GENERATION_BITS: i32 = 10

/** `END` */
export const CLOSED: i32 = 1
export const FAILED: i32 = 2
