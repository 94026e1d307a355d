/** Finds the script of a thread, whatever became of this package's files. */
import { builtin } from '../../platform/index.js'
import { thread } from './thread.js'

export interface Thread {
  postMessage(message: unknown): void
  terminate(): unknown
  unref?(): void
  onmessage?: unknown
  onerror?: unknown
  on?(event: string, listener: (value: unknown) => void): void
}

type NodeWorkers = { Worker: new (script: URL | string, options?: { eval?: boolean }) => Thread }

const workers = () => builtin<NodeWorkers>('node:worker_threads')

interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): { createScriptURL(url: string): string }
}

let policy: { createScriptURL(url: string): string } | undefined

/** Where a page's policy requires trusted types, it must name `local-v1` among them for threads. */
function trusted(url: string): string {
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes }
  if (!trustedTypes) return url
  policy ??= trustedTypes.createPolicy('local-v1', { createScriptURL: (url) => url })
  return policy.createScriptURL(url)
}

/** A bundler may have left the file behind, or put everything into one file. */
function fromText(): Thread {
  const text = `(${thread})()`
  const node = workers()
  if (node) return new node.Worker(text, { eval: true })
  const url = URL.createObjectURL(new Blob([text], { type: 'text/javascript' }))
  const started = new Worker(trusted(url)) as unknown as Thread
  // The worker has it by now, or fetches it before this is done.
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
  return started
}

/** A Content-Security-Policy may let in only what comes from the page's own origin. */
function besides(): Thread {
  // Written out in full, because bundlers look for exactly this expression.
  const node = workers()
  return node
    ? new node.Worker(new URL('./cpu-worker.js', import.meta.url))
    : (new Worker(new URL('./cpu-worker.js', import.meta.url), { type: 'module' }) as unknown as Thread)
}

/** How a worker is called that `local-v1/service-worker` starts with the application's script: `local-v1/1 ...`. */
const OF_INSTALL = /^local-v1\/\d+ /
const AS_THREAD = ' thread'

const ownName = () => (globalThis as { name?: unknown }).name
const isNamed = (name: unknown): name is string => typeof name === 'string' && OF_INSTALL.test(name)

/**
 * That script may be run again, as it is in every tab: it calls `webgpu()` first, which makes a thread of it. No other
 * script may be.
 */
function bySelf(): Thread {
  const name = ownName()
  if (typeof document !== 'undefined' || !isNamed(name)) throw new Error('no worker may be started here')
  // Of a script built as one file that is not a module, nobody knows the address.
  const type = import.meta.url === location.href ? 'module' : 'classic'
  return new Worker(trusted(location.href), { type, name: name + AS_THREAD }) as unknown as Thread
}

/** Whether this is the application's script run again for a thread. It is one from here on. */
export function becomeThread(): boolean {
  const name = ownName()
  const is = typeof document === 'undefined' && isNamed(name) && name.endsWith(AS_THREAD)
  if (is) thread()
  return is
}

export const WAYS: readonly (() => Thread)[] = [fromText, besides, bySelf]
