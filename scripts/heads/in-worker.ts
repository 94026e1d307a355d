/** The trial itself: in a worker, whose memory has a limit that ends it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { parentPort, workerData } from 'node:worker_threads'
import { openCpuDevice } from '../../src/device/cpu/index.js'
import { damagedModels, randomOf } from './damage.js'
import { damagedDeciders } from './decisions.js'
import { tryModel } from './try.js'

const { count, seed } = workerData as { count: number; seed: number }
const SECOND = 1000

const say = (line: string) => parentPort!.postMessage({ line })
const device = await openCpuDevice({ threads: 1 })
const folder = mkdtempSync(join(tmpdir(), 'local-v1-deciders-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
let faults = 0
for (const [format, make] of Object.entries({ ...(await damagedModels()), ...(await damagedDeciders(folder)) })) {
  let [accepted, longest, named] = [0, 0, 0]
  for (let i = 0; i < count; i++) {
    const model = make(randomOf(seed * 1_000_003 + i))
    parentPort!.postMessage({ at: `${format} ${i}: ${model.what}` })
    // By processor time: others may be at work here.
    const before = process.cpuUsage()
    const { refusal, fault } = await tryModel(model, device)
    const { user, system } = process.cpuUsage(before)
    const ms = (user + system) / 1000
    longest = Math.max(longest, ms)
    if (refusal === undefined) accepted++
    else if (!refusal.includes('cannot be understood')) named++
    const wrong = fault ?? (ms > SECOND ? `it took ${Math.round(ms)} ms` : undefined)
    if (wrong === undefined) continue
    faults++
    say(`${format} ${i} (${model.what}): ${wrong}`)
  }
  say(
    `${format}: ${count} damaged heads, ${accepted} accepted, ${count - accepted} refused (${named} of them for what they say), at most ${Math.round(longest)} ms`,
  )
}
device.destroy()
if (faults > 0) process.exitCode = 1
