/** What schemas made to cost cost: at most 200 ms of processor time and 50 MiB each, and a refusal that says why. Exit code 1 otherwise. */

import { fork } from 'node:child_process'
import { HOSTILE } from './schemas/hostile.js'
import type { Cost } from './schemas/hostile-child.js'

const MOST_MS = 200
const MOST_MEBIBYTES = 50
/** A process that has not answered by then never will. */
const HUNG_MS = 20_000
/** The best of so many runs. */
const RUNS = 2

function measure(name: string): Promise<Cost> {
  return new Promise((resolve) => {
    const child = fork(new URL('./schemas/hostile-child.ts', import.meta.url), {
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    const failed = (outcome: string) =>
      settle({ name, outcome, refused: false, crashed: true, ms: HUNG_MS, mebibytes: 0 })
    const timer = setTimeout(() => failed('hung'), HUNG_MS)
    const settle = (cost: Cost) => {
      clearTimeout(timer)
      child.removeAllListeners()
      child.kill('SIGKILL')
      resolve(cost)
    }
    child.once('message', (cost) => settle(cost as Cost))
    child.once('exit', () => failed('the process died'))
    child.send(name)
  })
}

let missed = 0
for (const name of Object.keys(HOSTILE)) {
  const runs: Cost[] = []
  for (let i = 0; i < RUNS && (i === 0 || runs[0]!.ms < HUNG_MS); i++) runs.push(await measure(name))
  const ms = Math.min(...runs.map((run) => run.ms))
  const mebibytes = Math.min(...runs.map((run) => run.mebibytes))
  const { outcome, crashed } = runs[0]!
  const bad = crashed || ms > MOST_MS || mebibytes > MOST_MEBIBYTES
  if (bad) missed++
  console.log(
    `${bad ? 'MISSED' : 'ok    '} ${name}: ${ms.toFixed(0)} ms, ${mebibytes.toFixed(0)} MiB: ${outcome.slice(0, 140)}`,
  )
}
process.exitCode = missed > 0 ? 1 : 0
