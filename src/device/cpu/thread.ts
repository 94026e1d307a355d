/**
 * One more thread for the CPU device: takes the compiled kernels and the shared memory, then runs its part of every
 * program until the device is closed.
 *
 * Where no file can be found a worker is started from this function's text. So it must not use anything from outside,
 * nor syntax for which a bundler would put in a helper from outside: no `async`, no names for inner functions.
 */
export function thread(): void {
  const port = (
    (globalThis as { WorkerGlobalScope?: unknown }).WorkerGlobalScope === undefined
      ? process.getBuiltinModule('node:worker_threads').parentPort
      : globalThis
  ) as { postMessage(message: unknown): void; onmessage: unknown; close?(): void }

  port.onmessage = ({ data }: MessageEvent) => {
    const { module, memory, control, thread } = data
    return WebAssembly.instantiate(module as WebAssembly.Module, { env: { memory } }).then(({ exports }) => {
      const { serve, fail } = exports as Record<'serve' | 'fail', (control: number, thread?: number) => void>
      port.postMessage('ready')
      // Returns when the team is dismissed; until then this thread hears no messages, only the shared memory.
      try {
        serve(control, thread)
      } catch (error) {
        // The others must not wait for it; the thread that computes with them says what has happened.
        fail(control)
        throw error
      }
      // Deno's workers have no way to end themselves; the device ends them.
      port.close?.()
    })
  }
}
