/** Preloaded into each worker of the server: collects its garbage when the server's own is. Needs `--expose-gc`. */
const channel = new BroadcastChannel('collect garbage')
channel.onmessage = () => globalThis.gc()
// It is not to keep the worker alive.
channel.unref()
