/** Hangs, told by what this process has done and not by a clock: a machine may have other things to do. */
import { Worker } from 'node:worker_threads'

/** Far more than any answer takes; none is shorter than a millisecond, or than the process waits for a processor. */
const TURNS = 5000
/** Seconds of the processor, of all threads of this process together. */
const WORK = 10

export const HANGS = 'it hangs'

/** What `run` comes to; `HANGS` where the event loop went round so often without it. */
export async function unlessItHangs<T>(run: () => Promise<T>, turns = TURNS): Promise<T | typeof HANGS> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const waited = new Promise<typeof HANGS>((resolve) => {
    const turn = (left: number) => {
      if (left === 0) resolve(HANGS)
      else timer = setTimeout(turn, 1, left - 1)
    }
    turn(turns)
  })
  try {
    return await Promise.race([run(), waited])
  } finally {
    clearTimeout(timer)
  }
}

/** What never gives way can be seen only from another thread, and ended only with its process. */
export interface SpinWatch {
  /** Once the watch itself costs no more. */
  readonly ready: Promise<void>
  begin(what: string): void
  end(): void
}

export function watchForSpins(seconds = WORK): SpinWatch {
  const worker = new Worker(WATCH, { eval: true, workerData: seconds })
  const ready = new Promise<void>((resolve) => worker.once('message', () => resolve()))
  worker.unref()
  return { ready, begin: (what) => worker.postMessage(what), end: () => worker.postMessage(undefined) }
}

const WATCH = `
const { parentPort, workerData: limit } = require('node:worker_threads')
const { writeSync } = require('node:fs')
const work = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1e6 }
let what, began
parentPort.on('message', (now) => { what = now; began = work() })
setInterval(() => {
  if (what === undefined || work() - began < limit) return
  writeSync(2, 'It spins: ' + what + '\\n')
  process.kill(process.pid, 'SIGKILL')
}, 100)
parentPort.postMessage('ready')`
