/**
 * Preloaded into the server: says on request what the process has in memory, garbage collected first, and how long the
 * longest turn of its event loop has kept a processor since it was last asked. Needs `--expose-gc`.
 */
import { readFileSync } from 'node:fs'
import workers from 'node:worker_threads'
import { collect, part } from './thread-memory.mjs'

/** A collector sees its own thread alone, and the engine has one of its own. */
workers.Worker = class extends workers.Worker {
  constructor(script, options) {
    const preloaded = new URL('collect.mjs', import.meta.url).href
    super(script, { ...options, execArgv: [...(options?.execArgv ?? []), '--import', preloaded] })
  }
}
const collected = new BroadcastChannel('collect garbage')
collected.unref()

/** Milliseconds of a processor that this thread has had; of time, where the system does not say. */
function had() {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6
  } catch {
    return performance.now()
  }
}

let last = had()
let longest = 0
// A timer that is due is looked at once in each turn: what lies between two is a turn, and no more than these milliseconds.
setInterval(() => {
  const now = had()
  longest = Math.max(longest, now - last)
  last = now
}, 2).unref()

/** What other threads told of themselves. */
let told = []
collected.onmessage = ({ data }) => void told.push(data)
const ticks = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

async function memory() {
  collected.postMessage('')
  collect()
  await ticks(100)
  told = []
  // The second time for what finalizers of the first have let go.
  collected.postMessage('tell')
  collect()
  await ticks(100)
  return { resident: process.memoryUsage().rss, threads: [part(), ...told] }
}

process.on('message', (asked) => {
  if (asked === 'turn') {
    process.send(longest)
    longest = 0
    return
  }
  void memory().then((found) => {
    process.send(found)
    last = had()
  })
})
// It is not to keep the server alive.
process.channel.unref()
