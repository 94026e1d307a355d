/**
 * Loaded before anything else by every Node that inherits NODE_OPTIONS (scripts/check-wide.ts): V8 makes 256-bit code of all
 * WebAssembly, as `revectorize` has it for the kernels alone, and without a trial that could decide otherwise. NODE_OPTIONS
 * does not take the flags themselves. Each time the kernels are compiled, a line is added to the file LOCAL_V1_WIDE.
 */
const { appendFileSync } = require('node:fs')
const { setFlagsFromString } = require('node:v8')

// Deno reads NODE_OPTIONS too.
if (globalThis.Deno === undefined) {
  // Tests take the environment away.
  const { LOCAL_V1_WIDE: log, LOCAL_V1_WIDE_TRACE: traced } = process.env
  const { pid, argv } = process
  const before = traced ? ['--trace-wasm-revectorize'] : []
  const flags = ['--experimental-wasm-revectorize', '--no-liftoff', '--no-wasm-lazy-compilation', '--no-wasm-deopt']
  for (const flag of [...before, ...flags]) setFlagsFromString(flag)
  const { Module } = WebAssembly
  // At once, as nothing else keeps a Node from ending while it compiles that well beside what runs.
  WebAssembly.compile = async (bytes) => {
    const module = new Module(bytes)
    const ours = Module.exports(module).some(({ name }) => name === 'runTogether')
    if (ours && log) appendFileSync(log, `${pid} ${argv[1]}\n`)
    return module
  }
}
