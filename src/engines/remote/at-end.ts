/**
 * Node waits at its end for all of its threads, and for one in native code that never returns it would wait for good. Then
 * another process ends this one.
 */
import { builtin, type Pulse } from '../../platform/index.js'

/** A thread that has not gone. */
export interface Living {
  readonly pulse: Pulse
  /** Whether it is to show life: it has something to do, or was told to end because it showed none. */
  due: boolean
}

type ChildProcess = typeof import('node:child_process')
interface Program {
  readonly pid: number
  readonly execPath: string
  once(event: 'exit', listener: () => void): void
}

const living = new Set<Living>()
let listens = false

/** What has something to do shows life ten times a second, between two looks that is often enough. */
const [LOOK_MS, LOOKS] = [20, 25]
/** What this process has to come to its end by itself. */
const ENDS_MS = 2000
/** Other runtimes do not wait; a program that carries Node within itself would be started again. */
const IS_NODE = /[\\/](node|nodejs)(\.exe)?$/

/** Keeps an eye on a thread until it has gone. */
export function livesUntil(gone: Promise<unknown>, pulse: Pulse): Living {
  const thread: Living = { pulse, due: false }
  living.add(thread)
  void gone.then(() => living.delete(thread))
  const { process } = globalThis as { process?: Program }
  if (!listens && process && IS_NODE.test(process.execPath)) {
    process.once('exit', () => atEnd(process))
    listens = true
  }
  return thread
}

function atEnd({ pid, execPath }: Program): void {
  if ([...living].every(({ due, pulse }) => !due || showsLife(pulse))) return
  // It has another parent once this process is gone, whoever has its number then.
  const script = `setTimeout(() => process.ppid === ${pid} && process.kill(${pid}, 'SIGKILL'), ${ENDS_MS})`
  const { spawn } = builtin<ChildProcess>('node:child_process') ?? {}
  spawn?.(execPath, ['-e', script], { detached: true, stdio: 'ignore', windowsHide: true }).unref()
}

function showsLife(pulse: Pulse): boolean {
  const before = pulse.beats
  const nothing = new Int32Array(new SharedArrayBuffer(4))
  for (let looks = 0; looks < LOOKS; looks++) {
    Atomics.wait(nothing, 0, 0, LOOK_MS)
    if (pulse.beats !== before) return true
  }
  return false
}
