/** How a thread comes to its end: from outside, or by itself, for one that must not be ended so (platform/native.ts). */
import { atMost, builtin } from '../../platform/index.js'
import type { WorkerThread } from './port.js'

/** What asks it to. */
export interface Leave {
  readonly type: 'leave'
}

/** What one that hears takes to let go. */
const HEARS_MS = 500
/** One that computes without end hears nothing until it is interrupted. */
const LEAVES_MS = 10_000

type Params = Readonly<Record<string, unknown>>
interface Inspector {
  Session: new () => {
    connect(): void
    disconnect(): void
    post(method: string, params: Params): void
    on(method: string, listener: (event: { readonly params: never }) => void): void
  }
}
interface Attached {
  readonly sessionId: string
  readonly workerInfo: { readonly title: string }
}

/** Ends it from outside. Settles once it has gone; false: it is in native code that does not return. */
export async function terminated(thread: WorkerThread, gone: Promise<unknown>): Promise<boolean> {
  void thread.terminate()
  // Elsewhere than in Node nobody is told, nor does anybody wait for it.
  if (!thread.once || (await atMost(LEAVES_MS, gone)) === 'ended') return true
  // Node keeps the process alive for a thread that is to end.
  thread.unref?.()
  return false
}

/** Settles once it has gone; false: nothing brings it to an end. */
export async function leaves(thread: WorkerThread, gone: Promise<unknown>): Promise<boolean> {
  // Whoever waits for nothing else must not take it down with the process.
  thread.ref?.()
  thread.postMessage({ type: 'leave' } satisfies Leave)
  if ((await atMost(HEARS_MS, gone)) === 'ended') return true
  interrupt(thread)
  if ((await atMost(LEAVES_MS, gone)) === 'ended') return true
  thread.unref?.()
  return false
}

/**
 * Breaks off what the thread computes, and nothing else: its event loop goes on. Node has no other way to say so than its
 * debugger, which needs no port for that.
 */
function interrupt({ threadId }: WorkerThread): void {
  const { Session } = builtin<Inspector>('node:inspector') ?? {}
  if (!Session || threadId === undefined) return
  const session = new Session()
  session.connect()
  const message = JSON.stringify({ id: 1, method: 'Runtime.terminateExecution' })
  session.on('NodeWorker.attachedToWorker', ({ params }) => {
    const { sessionId, workerInfo } = params as Attached
    // Its number there is another; the title has that of the thread.
    if (!workerInfo.title.startsWith(`[worker ${threadId}]`)) return
    session.post('NodeWorker.sendMessageToWorker', { sessionId, message })
  })
  session.on('NodeWorker.receivedMessageFromWorker', () => session.disconnect())
  session.post('NodeWorker.enable', { waitForDebuggerOnStart: false })
}
