/** One load of a model to the CPU device, in parts: what both hosts measure. */
import { openCpuDevice } from '../../src/device/cpu/index.js'
import type { ModelLocation } from '../../src/models/files/location.js'
import { openRepository } from '../../src/models/files/open.js'
import { loadCore } from '../../src/models/load.js'

export interface Load {
  /** Milliseconds: the kernels compiled and started; head and vocabulary read; weights on the device. */
  readonly device: number
  readonly head: number
  readonly weights: number
  /** Of the weights: what the host's clock of processor time says; absent where it has none. */
  readonly spent?: Spent
}

/** Milliseconds of the whole process: its own, and the system's for it. */
export interface Spent {
  readonly own: number
  readonly system: number
}

/** A load in a host, with what it is compared with. */
export interface Measured {
  /** Into a few megabytes, again and again; and into memory of its own, which no model is loaded without. */
  readonly readMs: number
  readonly keptMs: number
  readonly load: Load
  /** Bytes of the process at its peak, and once the load is over. */
  readonly peak: number
  readonly stays: number
}

/** With nothing before it that would have made the heap large. `stay` keeps the model until it resolves. */
export async function measureLoad(
  place: ModelLocation,
  threads: number,
  stay: (load: Load) => Promise<void>,
  spent?: () => Spent,
): Promise<void> {
  const start = performance.now()
  const device = await openCpuDevice({ threads })
  const opened = performance.now()
  const options = { report: () => {}, signal: new AbortController().signal, cache: false } as const
  const { weights } = await openRepository(place, options)
  const read = performance.now()
  const before = spent?.()
  const core = await loadCore(device, weights, { contextLength: 512, maxBatch: 1 })
  const load = { device: opened - start, head: read - opened, weights: performance.now() - read }
  const after = spent?.()
  await stay(after ? { ...load, spent: { own: after.own - before!.own, system: after.system - before!.system } } : load)
  await core.close()
  device.destroy()
}
