/** Worker threads that share the kernels' memory and run programs together with the calling thread. */
import { builtin } from '../../platform/index.js'
import { controlBytes, MAY_SLEEP, SPINS, workAt } from './abi.js'
import { type Thread, WAYS } from './start-thread.js'
import type { Kernels } from './wasm.js'

export const MAX_THREADS = 64
export const CONTROL_BYTES = controlBytes(MAX_THREADS)

export interface Team {
  /** Threads that run a program, the calling one included. */
  readonly threads: number
  /** Why there are so many, in words for the device's description. */
  readonly reason: string
  /** Of each thread, the calling one first, how many items it has done of what was shared out. */
  work(): readonly number[]
  close(): void
}

/** About 20 microseconds: longer than a wait within a step, far shorter than what it takes to wake a thread. */
const LOOKS = 4000
/** Longer than any healthy start; a host whose workers never answer must not hold up the model. */
const START_MS = 5000

/** Whether memory can be shared with workers here, or why not. */
export function sharingRefusal(): string | undefined {
  const isolated = (globalThis as { crossOriginIsolated?: boolean }).crossOriginIsolated
  if (typeof SharedArrayBuffer === 'undefined')
    return isolated ? 'this browser shares no memory' : 'the page is not cross-origin isolated'
  if (isolated === false && typeof document !== 'undefined') return 'the page is not cross-origin isolated'
  if (typeof Worker === 'undefined' && !builtin('node:worker_threads')) return 'there are no workers here'
  return undefined
}

/** Cores that are worth a thread each: beyond four, half of what is reported are usually second threads of a core. */
export function usefulThreads(): number {
  const os = builtin<{ availableParallelism?(): number }>('node:os')
  const cores = os?.availableParallelism?.() ?? globalThis.navigator?.hardwareConcurrency ?? 1
  return cores <= 4 ? cores : Math.min(8, Math.max(4, cores >> 1))
}

function ready(thread: Thread, message: unknown): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('a worker did not start in time')), START_MS)
    const settle = (then: () => void) => {
      clearTimeout(timer)
      then()
    }
    const fail = (error: unknown) =>
      settle(() => reject(new Error((error as Error | undefined)?.message || 'a worker could not be loaded')))
    if (thread.on) {
      thread.on('message', () => settle(resolve))
      thread.on('error', fail)
    } else {
      thread.onmessage = () => settle(resolve)
      thread.onerror = fail
    }
    thread.postMessage(message)
  })
}

/** A browser's main thread must not sleep: it spins while it waits for the others. */
function maySleep(memory: WebAssembly.Memory): boolean {
  try {
    Atomics.wait(new Int32Array(memory.buffer, 0, 1), 0, -1, 0)
    return true
  } catch {
    return false
  }
}

/** The first way to start a thread that does. */
async function firstThat(
  ways: readonly (() => Thread)[],
  start: (way: () => Thread) => Promise<void>,
): Promise<() => Thread> {
  let why: unknown
  for (const way of ways) {
    try {
      await start(way)
      return way
    } catch (error) {
      why ??= error
    }
  }
  throw why
}

/** Starts `threads - 1` workers. Where the host forbids them, the caller stays alone, and `reason` says why. */
export async function gatherTeam(
  kernels: Kernels,
  module: WebAssembly.Module,
  memory: WebAssembly.Memory,
  control: number,
  threads: number,
  ways: readonly (() => Thread)[] = WAYS,
): Promise<Team> {
  const alone = (reason: string): Team => ({ threads: 1, reason, work: () => [0], close() {} })
  if (threads <= 1) return alone('one thread')
  const workers = new Set<Thread>()
  /** `thread`: its number; the caller is 0, and a slice of every operation is that of each number below `threads`. */
  const start = async (way: () => Thread, thread: number) => {
    const worker = way()
    workers.add(worker)
    try {
      await ready(worker, { module, memory, control, thread })
    } catch (error) {
      worker.terminate()
      workers.delete(worker)
      throw error
    }
  }
  try {
    const way = await firstThat(ways, (way) => start(way, 1))
    await Promise.all(Array.from({ length: threads - 2 }, (_, i) => start(way, i + 2)))
  } catch (error) {
    for (const worker of workers) worker.terminate()
    return alone(`one thread, because ${(error as Error).message}`)
  }
  for (const worker of workers) worker.unref?.()
  const words = new Int32Array(memory.buffer, control)
  words[MAY_SLEEP / 4] = maySleep(memory) ? 1 : 0
  words[SPINS / 4] = LOOKS
  return {
    threads,
    reason: `${threads} threads`,
    work() {
      const words = new Int32Array(memory.buffer)
      return Array.from({ length: threads }, (_, thread) => words[(control + workAt(thread)) / 4]! >>> 0)
    },
    close() {
      kernels.dismiss(control)
      for (const worker of workers) worker.terminate()
    },
  }
}
