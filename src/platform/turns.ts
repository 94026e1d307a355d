let turn: (() => Promise<void>) | undefined

/**
 * Lets the event loop run once. A model on the CPU answers in microtasks alone, and would keep sockets, timers and abort
 * signals waiting until the whole answer is there.
 */
export function breathe(): Promise<void> {
  turn ??= makeTurn()
  return turn()
}

let line: Promise<void> = Promise.resolve()

/**
 * Waits for a turn of the event loop that nobody else has: of all who wait here, one goes on per turn. Whoever works in
 * slices and asks before each holds everybody else up for one slice, however many do the same.
 */
export function ownTurn(): Promise<void> {
  line = line.then(breathe)
  return line
}

/** Work that pauses wherever it may be left. */
export type Slices<T> = Generator<void, T, void>

/** Does the work at once, without a pause. */
export function atOnce<T>(work: Slices<T>): T {
  for (;;) {
    const { done, value } = work.next()
    if (done) return value
  }
}

/** Does the work with a turn of the event loop at each pause; leaves it there once the signal has aborted. */
export async function inTurns<T>(work: Slices<T>, signal: AbortSignal): Promise<T> {
  for (;;) {
    signal.throwIfAborted()
    const { done, value } = work.next()
    if (done) return value
    await ownTurn()
  }
}

function makeTurn(): () => Promise<void> {
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
