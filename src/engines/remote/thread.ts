/** A worker of a browser, of Node or of Deno as the other side. */
import { Pulse } from '../../platform/index.js'
import { livesUntil } from './at-end.js'
import { leaves, terminated } from './leaving.js'
import { type Port, portOf, type WorkerThread } from './port.js'
import type { Far } from './remote-engine.js'

/** What goes to a worker before the calls: what it is to run, without functions, and where it shows that it lives. */
export interface Open<Options> {
  readonly type: 'open'
  readonly options: Options
  readonly pulse?: SharedArrayBuffer
}

/** What comes from it beside the answers. */
export type FromThread =
  | { readonly type: 'log'; readonly message: string }
  /** Native code has come into it, and it must not be ended from outside. */
  | { readonly type: 'native' }

export interface FarThreadOptions<Options> {
  readonly options: Options
  readonly log: (message: string) => void
  /** Ends it where it shows no life for long. */
  readonly watched?: boolean
}

/** Has the thread open an engine with these options: `serveInside` runs there. */
export function farThread<Options>(
  thread: WorkerThread,
  { options, log, watched = false }: FarThreadOptions<Options>,
): Far {
  const gone = new Promise<unknown>((resolve) => {
    if (thread.once) {
      thread.once('error', resolve)
      thread.once('exit', (code) => resolve(new Error(`it ended with exit code ${String(code)}.`)))
    } else {
      // An error that nobody caught: whether it is still whole cannot be known.
      thread.onerror = (event: ErrorEvent) => resolve(event.error ?? new Error(event.message || 'it cannot be loaded.'))
    }
  })
  const port = portOf(thread)
  let native = false
  const pulse = watched ? new Pulse() : undefined
  const living = pulse && livesUntil(gone, pulse)
  thread.postMessage({ type: 'open', options, ...(pulse && { pulse: pulse.memory }) } satisfies Open<Options>)
  return {
    gone,
    ...(pulse && { pulse }),
    port: {
      post: port.post,
      listen: (listener) =>
        port.listen((message) => {
          const received = message as FromThread | null
          if (received?.type === 'log') log(received.message)
          else if (received?.type === 'native') native = true
          else listener(message)
        }),
      whenGone: () => {},
      // The thread itself is ended below.
      close: () => {},
    },
    hold(hold) {
      if (living) living.due = hold
      if (hold) thread.ref?.()
      else thread.unref?.()
    },
    end(silent) {
      if (living) living.due = silent
      void (native ? leaves(thread, gone) : terminated(thread, gone)).then((left) => {
        if (!left) log('A worker that never stops computing is left as it is, because it cannot be ended.')
      })
    },
  }
}

/** A line within one thread. */
export function portPair(): readonly [Port, Port] {
  const listeners: (((message: unknown) => void) | undefined)[] = [undefined, undefined]
  const early: unknown[][] = [[], []]
  const end = (mine: number): Port => ({
    post(message) {
      queueMicrotask(() => {
        const listener = listeners[1 - mine]
        if (listener) listener(message)
        else early[1 - mine]!.push(message)
      })
    },
    listen(listener) {
      listeners[mine] = listener
      for (const message of early[mine]!.splice(0)) listener(message)
    },
    whenGone: () => {},
    close() {
      listeners[mine] = undefined
    },
  })
  return [end(0), end(1)]
}
