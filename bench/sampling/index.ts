/**
 * What it takes to sample one token on the CPU device, beside the plain definition in `sampling.ts`, in one run:
 * `npm run bench:sampling`. Flat logits are those of a random model; trained ones are peaked.
 */

import type { Device, SampleRow } from '../../src/device/contract.js'
import { openCpuDevice } from '../../src/device/cpu/index.js'
import { embed } from '../../src/device/operations/embed/index.js'
import { sample } from '../../src/device/operations/sample/index.js'
import { mix, sampleRow } from '../../src/device/sampling.js'

const MILLISECONDS = 300

/** The least of many rounds: what else the machine does only ever adds. */
async function least(run: (index: number) => unknown): Promise<number> {
  let best = Number.POSITIVE_INFINITY
  const end = performance.now() + MILLISECONDS
  for (let i = 0; i < 5 || performance.now() < end; i++) {
    const start = performance.now()
    await run(i)
    best = Math.min(best, performance.now() - start)
  }
  return best * 1000
}

function logitsOf(tokens: number, spread: number): Float32Array {
  const chance = (i: number) => mix(i) / 4294967296
  const normal = (i: number) => chance(i) + chance(i + tokens) + chance(i + 2 * tokens) - 1.5
  return Float32Array.from({ length: tokens }, (_, i) => 2 * spread * normal(i))
}

async function onDevice(device: Device, logits: Float32Array, row: SampleRow): Promise<number> {
  const tokens = logits.length
  const table = device.matrix({ format: 'f32', rows: 1, columns: tokens, data: new Uint8Array(logits.buffer) })
  const values = device.activations(1, tokens)
  const sampler = device.sampler({ vocabulary: tokens, tokens, rows: 1, slots: 1 })
  const span = { tokens: Int32Array.of(0), position: 0, pages: new Int32Array(1) }
  const filled = device.begin({ spans: [span], sampler })
  filled.run(embed, table, values)
  await filled.submit()
  const took = await least((index) => {
    const pass = device.begin({ spans: [span], sampler })
    pass.run(sample, sampler, values, [{ ...row, index }])
    return pass.submit()
  })
  for (const resource of [table, values, sampler]) resource.destroy()
  return took
}

const device = await openCpuDevice({ threads: 1 })
const table: Record<string, string | number>[] = []
for (const tokens of [4096, 32000, 151936]) {
  for (const [kind, spread] of [
    ['flat', 0.5],
    ['peaked', 8],
  ] as const) {
    const logits = logitsOf(tokens, spread)
    const scratch = new Float32Array(tokens)
    const row: SampleRow = { slot: 0, temperature: 0.8, topP: 0.95, seed: 1, index: 0 }
    const plain = await least((index) => sampleRow(logits, tokens, { ...row, index }, scratch))
    const ours = await onDevice(device, logits, row)
    table.push({
      tokens,
      logits: kind,
      'device, us': ours.toFixed(0),
      'definition, us': plain.toFixed(0),
      ratio: (plain / ours).toFixed(1),
    })
  }
}
console.log('One token at temperature 0.8 and top_p 0.95, least of many rounds, one thread.')
console.table(table)
device.destroy()
