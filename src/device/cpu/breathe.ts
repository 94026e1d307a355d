/**
 * A pass on the CPU computes before it returns. Whoever awaits one after the other would keep the event loop from
 * everything else; so every few milliseconds a pass ends in a turn of the loop.
 */
const TURN_MS = 8

let last = 0

function turn(): Promise<void> {
  const host = globalThis as { setImmediate?(run: () => void): unknown }
  return new Promise((resolve) => {
    if (host.setImmediate) {
      host.setImmediate(resolve)
      return
    }
    // Timers are held back in nested calls and in hidden pages; messages are not.
    const { port1, port2 } = new MessageChannel()
    port1.onmessage = () => {
      port1.close()
      resolve()
    }
    port2.postMessage(0)
  })
}

export async function breathe(): Promise<void> {
  if (performance.now() - last < TURN_MS) return
  await turn()
  last = performance.now()
}
