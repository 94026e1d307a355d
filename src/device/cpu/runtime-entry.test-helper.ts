/** Runs in Deno and in a browser's page: what the device computes there, by build and number of threads. */

import { BYTE_PRODUCTS } from './byte-products.js'
import { type CpuDeviceOptions, openCpuDevice } from './index.js'
import { blocks, layer } from './layer.test-helper.js'
import { bestVariant } from './wasm.js'

export interface Outcome {
  readonly name: string
  readonly values: readonly number[]
  /** What each thread did of it. */
  readonly work: readonly number[]
}

/** Milliseconds after which a thread that has done nothing never will, on however busy a machine. */
const PATIENCE = 20_000

export async function outcomes(): Promise<Outcome[]> {
  const results: Outcome[] = []
  const variants = bestVariant() === 'relaxed' ? (['simd', 'relaxed'] as const) : (['simd'] as const)
  for (const variant of variants) {
    for (const threads of [1, 3]) results.push(await outcome({ variant, threads }))
    if (variant === 'simd') continue
    for (const byteProducts of BYTE_PRODUCTS) {
      results.push(await outcome({ variant, threads: 1, byteProducts }))
    }
  }
  return results
}

async function outcome(options: CpuDeviceOptions): Promise<Outcome> {
  const device = await openCpuDevice(options)
  const values = [...(await layer(device, 6)), ...(await blocks(device))]
  const { name } = device.info
  // A thread that the system gives no core misses work; matrices are packed by all threads, each time anew.
  for (const end = Date.now() + PATIENCE; Date.now() < end && device.work!().length > 1; ) {
    if (device.work!().every((items) => items > 0)) break
    await blocks(device)
  }
  const work = device.work!()
  device.destroy()
  return { name, values, work }
}

const host = globalThis as { Deno?: unknown; outcomes?: typeof outcomes }
if (host.Deno) console.log(JSON.stringify(await outcomes()))
else host.outcomes = outcomes
