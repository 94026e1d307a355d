/** Whether every thread of the CPU device works: how many of them have done anything. */
import { SHAPES, syntheticSource } from '../../src/bench/shapes.js'
import { openCpuDevice } from '../../src/device/cpu/index.js'
import { loadCore } from '../../src/models/load.js'
import type { Counts } from './compare.js'

const THREADS = [1, 2, 3, 4]
/** On a busy machine a thread that gets no core misses a pass, or a few: none misses this many. */
const PASSES = 400

export async function countThreads(): Promise<Counts> {
  const found: Record<string, Counts> = {}
  for (const threads of THREADS) {
    const device = await openCpuDevice({ threads })
    const core = await loadCore(device, syntheticSource(SHAPES['nano-like']!), { contextLength: 128, maxBatch: 1 })
    const sequence = core.open()
    const idle = () => device.work!().filter((items) => items === 0).length
    for (let i = 0; i < PASSES && (i === 0 || idle() > 0); i++) {
      await core.step([{ sequence, tokens: new Array(64).fill(7) }])
      sequence.truncate(0)
    }
    const work = device.work!()
    found[`of ${threads}`] = { 'threads counted': work.length, 'with nothing done': threads === 1 ? 0 : idle() }
    sequence.close()
    await core.close()
    device.destroy()
  }
  return found
}
