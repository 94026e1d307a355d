import { builtin } from './builtin.js'

interface Os {
  getPriority(of: number): number
  setPriority(of: number, priority: number): void
}

/** A third of the weight that the other threads have, where both want the same processor. */
const BEHIND = 5
const LAST = 19

/**
 * Lets the process's other threads go before this one, and before those that it starts from now on: where all processors
 * compute, whoever answers HTTP would wait for its time slices to end. Nothing where no other thread wants a processor.
 * Linux alone counts this for each thread; elsewhere it would be the whole process, and Deno asks for leave.
 */
export function goBehind(): void {
  const { process, Deno } = globalThis as { process?: { platform?: string }; Deno?: unknown }
  if (process?.platform !== 'linux' || Deno !== undefined) return
  if (builtin<{ isMainThread: boolean }>('node:worker_threads')?.isMainThread !== false) return
  try {
    const os = builtin<Os>('node:os')
    os?.setPriority(0, Math.min(LAST, os.getPriority(0) + BEHIND))
  } catch {
    // As before, then.
  }
}
