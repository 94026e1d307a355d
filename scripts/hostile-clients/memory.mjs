/** Preloaded into the server: says on request what the process has, garbage collected first. Needs `--expose-gc`. */
process.on('message', () => {
  globalThis.gc()
  // The second time for what finalizers of the first have let go.
  setTimeout(() => {
    globalThis.gc()
    process.send(process.memoryUsage())
  }, 100)
})
// It is not to keep the server alive.
process.channel.unref()
