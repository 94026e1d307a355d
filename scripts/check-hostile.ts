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
/** A process that has not answered by then never will. */
const HUNG_MS = 20_000
/** Generated schemas that one process compiles, and what it may take for all of them. */
const BATCH = 100
const BATCH_HUNG_MS = 120_000

const { values: flags } = parseArgs({ options: { seeds: { type: 'string', default: '2000' } } })
/** The best of so many runs. */
const RUNS = 2

function measure(name: string): Promise<Cost> {
  return new Promise((resolve) => {
    const child = fork(new URL('./schemas/hostile-child.ts', import.meta.url), {
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    const failed = (outcome: string) =>
      settle({ name, outcome, refused: false, crashed: true, ms: HUNG_MS, mebibytes: 0 })
    let timer: NodeJS.Timeout | undefined
    const settle = (cost: Cost) => {
      clearTimeout(timer)
      child.removeAllListeners()
      child.kill('SIGKILL')
      resolve(cost)
    }
    child.once('exit', () => failed('the process died'))
    child.once('message', () => {
      timer = setTimeout(() => failed('hung'), name.startsWith('seeds ') ? BATCH_HUNG_MS : HUNG_MS)
      child.once('message', (cost) => settle(cost as Cost))
      child.send(name)
    })
  })
}

let missed = 0
const seeds = Number(flags.seeds)
const batches = Array.from({ length: Math.ceil(seeds / BATCH) }, (_, i) => {
  return `seeds ${i * BATCH} ${Math.min(seeds, (i + 1) * BATCH)}`
})
for (const name of [...Object.keys(HOSTILE), ...Object.keys(COSTLY), ...Object.keys(WALKS), ...batches]) {
  const runs: Cost[] = []
  for (let i = 0; i < RUNS && (i === 0 || runs[0]!.ms < HUNG_MS); i++) runs.push(await measure(name))
  const ms = Math.min(...runs.map((run) => run.ms))
  const mebibytes = Math.min(...runs.map((run) => run.mebibytes))
  const { name: told, outcome, crashed, refused } = runs[0]!
  const costly = name in COSTLY
  const many = name.startsWith('seeds ')
  const bad =
    crashed || (costly && refused) || ms > (costly ? COSTLY_MS : MOST_MS) || (!many && mebibytes > MOST_MEBIBYTES)
  if (bad) missed++
  console.log(
    `${bad ? 'MISSED' : 'ok    '} ${told}: ${ms.toFixed(0)} ms, ${mebibytes.toFixed(0)} MiB: ${outcome.slice(0, 140)}`,
  )
}
process.exitCode = missed > 0 ? 1 : 0
