/**
 * What schemas made to cost cost, named ones and generated ones: at most 200 ms of processor time and 50 MiB each, and a
 * refusal that says why; what people write and that costs must compile, in 100 ms. `--seeds N` (default 2000) of the
 * generator. Exit code 1 otherwise.
 */

import { fork } from 'node:child_process'
import { parseArgs } from 'node:util'
import { COSTLY, HOSTILE, WALKS } from './schemas/hostile.js'
import type { Cost } from './schemas/hostile-child.js'

const MOST_MS = 200
const MOST_MEBIBYTES = 50
/** For what must compile. */
const COSTLY_MS = 100
/** Generated schemas that one process compiles. */
const BATCH = 100

const { values: flags } = parseArgs({ options: { seeds: { type: 'string', default: '2000' } } })
/** The best of so many runs, and of more where that is too much: what else the machine does only adds to it. */
const RUNS = 2
const MOST_RUNS = 6

function measure(name: string): Promise<Cost> {
  return new Promise((resolve) => {
    const child = fork(new URL('./schemas/hostile-child.ts', import.meta.url), {
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    const settle = (cost: Cost) => {
      child.removeAllListeners()
      child.kill('SIGKILL')
      resolve(cost)
    }
    // A process that takes too much of the processor ends itself: how long it takes by a clock says how busy the machine is.
    child.once('exit', (_, signal) => {
      const outcome = signal === 'SIGKILL' ? 'hung' : 'the process died'
      settle({ name, outcome, refused: false, crashed: true, ms: Infinity, mebibytes: 0 })
    })
    child.once('message', () => {
      child.once('message', (cost) => settle(cost as Cost))
      child.send(name)
    })
  })
}

function least(runs: readonly Cost[], what: 'ms' | 'mebibytes'): number {
  return Math.min(...runs.map((run) => run[what]))
}

function isBad(name: string, runs: readonly Cost[]): boolean {
  const costly = name in COSTLY
  const { refused } = runs[0]!
  if (runs.some(({ crashed }) => crashed) || (costly && refused) || least(runs, 'ms') > (costly ? COSTLY_MS : MOST_MS))
    return true
  return !name.startsWith('seeds ') && least(runs, 'mebibytes') > MOST_MEBIBYTES
}

let missed = 0
const seeds = Number(flags.seeds)
const batches = Array.from({ length: Math.ceil(seeds / BATCH) }, (_, i) => {
  return `seeds ${i * BATCH} ${Math.min(seeds, (i + 1) * BATCH)}`
})
for (const name of [...Object.keys(HOSTILE), ...Object.keys(COSTLY), ...Object.keys(WALKS), ...batches]) {
  const runs: Cost[] = []
  let bad = true
  while (runs.length < RUNS || (bad && runs.length < MOST_RUNS)) {
    runs.push(await measure(name))
    bad = isBad(name, runs)
    if (runs.at(-1)!.crashed) break
  }
  const { name: label, outcome } = runs.find(({ crashed }) => crashed) ?? runs[0]!
  if (bad) missed++
  console.log(
    `${bad ? 'MISSED' : 'ok    '} ${label}: ${least(runs, 'ms').toFixed(0)} ms, ${least(runs, 'mebibytes').toFixed(0)} MiB: ${outcome.slice(0, 140)}`,
  )
}
process.exitCode = missed > 0 ? 1 : 0
