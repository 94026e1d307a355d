/** The inside of a worker. */
import type { Engine } from '../../contract/index.js'
import { beat, builtin, goBehind, leaveNative, showPulse, whenNativeIsHere } from '../../platform/index.js'
import type { Leave } from './leaving.js'
import { type MessageTarget, type Port, portOf } from './port.js'
import { serveEngine } from './serve.js'
import type { FromThread, Open } from './thread.js'

/** How often a worker that has something to do shows that its event loop runs. */
const BEAT_MS = 100

/**
 * Opens the engine that the other side asks for, once, and serves it. `other` takes messages that are neither of these,
 * and says which they are.
 */
export function serveInside<Options, E extends Engine>(
  open: (options: Options, log: (message: string) => void) => E | Promise<E>,
  other: (message: unknown, opened: Promise<E> | undefined) => boolean = () => false,
): void {
  const target =
    builtin<{ parentPort: MessageTarget | null }>('node:worker_threads')?.parentPort ??
    (globalThis as unknown as MessageTarget)
  goBehind()
  const outside = portOf(target)
  const early: unknown[] = []
  let take: (message: unknown) => void = (message) => early.push(message)
  const inside: Port = {
    ...outside,
    listen(listener) {
      take = listener
      for (const message of early.splice(0)) listener(message)
    },
  }
  const log = (message: string) => outside.post({ type: 'log', message } satisfies FromThread)
  let opened: Promise<E> | undefined
  whenNativeIsHere(() => outside.post({ type: 'native' } satisfies FromThread))
  outside.listen((message) => {
    if ((message as Partial<Leave> | null)?.type === 'leave') return void leaveNative().then(end)
    if ((message as Partial<Open<Options>> | null)?.type !== 'open') {
      if (!other(message, opened)) take(message)
      return
    }
    const { options, pulse } = message as Open<Options>
    const busy = pulse && pulsing(pulse)
    busy?.(true)
    opened ??= (async () => open(options, log))()
    // A worker that cannot open ends, and so everybody hears of it.
    opened.then((engine) => serveEngine(engine, inside, busy)).catch((error: unknown) => setTimeout(raise, 0, error))
    other(undefined, opened)
  })
}

/** Nobody looks at a worker that rests, and its machine is to rest too: a service may do nothing for days. */
function pulsing(pulse: SharedArrayBuffer): (busy: boolean) => void {
  showPulse(pulse)
  let timer: ReturnType<typeof setInterval> | undefined
  return (busy) => {
    clearInterval(timer)
    if (!busy) return
    beat()
    timer = setInterval(beat, BEAT_MS)
    ;(timer as { unref?(): void }).unref?.()
  }
}

/** Of a worker it ends the thread alone. */
function end(): void {
  ;(globalThis as { process?: { exit?(code: number): never } }).process?.exit?.(0)
}

function raise(error: unknown): never {
  throw error
}
