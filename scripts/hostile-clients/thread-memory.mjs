/** What a thread has in memory, in bytes. What all threads share is told by one of them. */
import v8 from 'node:v8'
import { isMainThread, threadId } from 'node:worker_threads'

/** Memories of WebAssembly, which nothing counts that are shared. */
const made = new Set()
WebAssembly.Memory = class extends WebAssembly.Memory {
  constructor(descriptor) {
    super(descriptor)
    made.add(new WeakRef(this))
  }
}

/**
 * As V8 collects where memory is short: a usual collection of Node 24 keeps the pages that it empties for whoever asks next,
 * hundreds of MiB after a crowd, until a thread has been idle long enough. Needs `--expose-gc`; Node 20 reads no options.
 */
export function collect() {
  globalThis.gc({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}

export function part() {
  const heap = v8.getHeapStatistics()
  const { external, arrayBuffers } = process.memoryUsage()
  let wasm = 0
  for (const one of made) wasm += one.deref()?.buffer.byteLength ?? 0
  return {
    thread: isMainThread ? 'server' : `worker ${threadId}`,
    objects: heap.used_heap_size,
    // Pages that the collector keeps for what comes next.
    kept: heap.total_physical_size - heap.used_heap_size,
    native: heap.malloced_memory,
    buffers: arrayBuffers,
    other: external - arrayBuffers,
    wasm,
  }
}
