/**
 * Lets the event loop run once. A model on the CPU answers in microtasks alone, and would keep sockets, timers and abort
 * signals waiting until the whole answer is there.
 */
export const breathe: () => Promise<void> = makeBreathe()

function makeBreathe(): () => Promise<void> {
  const immediate = (globalThis as { setImmediate?: (callback: () => void) => unknown }).setImmediate
  if (immediate !== undefined) return () => new Promise((resolve) => void immediate(resolve))
  // A browser's timers wait four milliseconds; a message does not.
  const channel = new MessageChannel()
  const waiting: (() => void)[] = []
  channel.port1.onmessage = () => waiting.shift()?.()
  return () =>
    new Promise((resolve) => {
      waiting.push(resolve)
      channel.port2.postMessage(null)
    })
}
