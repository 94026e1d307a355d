/**
 * One more thread for the CPU device: takes the compiled kernels and the shared memory, then runs its part of every
 * program until the device is closed. Plain JavaScript, because it is loaded by address, from source and from a build.
 */
const port =
  typeof WorkerGlobalScope === 'undefined'
    ? process.getBuiltinModule('node:worker_threads').parentPort
    : /** @type {{ postMessage(message: unknown): void, onmessage: unknown, close?(): void }} */ (globalThis)

port.onmessage = async ({ data }) => {
  const { module, memory, control, thread } = data
  const { exports } = await WebAssembly.instantiate(module, { env: { memory } })
  port.postMessage('ready')
  // Returns when the team is dismissed; until then this thread hears no messages, only the shared memory.
  try {
    exports.serve(control, thread)
  } catch (error) {
    // The others must not wait for it; the thread that computes with them says what has happened.
    exports.fail(control)
    throw error
  }
  // Deno's workers have no way to end themselves; the device ends them.
  port.close?.()
}
