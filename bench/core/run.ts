/**
 * Speed of the inference core: `npx tsx bench/core/run.ts [--device cpu|webgpu|software] [--shape NAME]... [--prompt N]
 * [--steps N] [--threads N]`. Weights are synthetic, in q4f16_1: the arithmetic does not depend on their values.
 */
import { parseArgs } from 'node:util'
import { openCpuDevice } from '../../src/engines/webgpu/device/cpu/index.js'
import type { Device } from '../../src/engines/webgpu/device/device.js'
import { openWebGpuDevice } from '../../src/engines/webgpu/device/webgpu.js'
import { loadCore } from '../../src/engines/webgpu/model/load.js'
import { softwareGpu } from '../../test/support/swiftshader.js'
import { measure } from './measure.js'
import { SHAPES, syntheticSource } from './shapes.js'

const { values: options } = parseArgs({
  options: {
    device: { type: 'string', default: 'cpu' },
    shape: { type: 'string', multiple: true },
    prompt: { type: 'string', default: '256' },
    steps: { type: 'string', default: '32' },
    threads: { type: 'string' },
  },
})
const BATCHES = [1, 4, 8]

async function open(): Promise<Device> {
  if (options.device === 'cpu') return openCpuDevice(options.threads ? { threads: Number(options.threads) } : {})
  if (options.device === 'software') return openWebGpuDevice({ gpu: await softwareGpu() })
  return openWebGpuDevice()
}

const rows: string[][] = []
for (const name of options.shape ?? ['SmolLM2-135M-like']) {
  const shape = SHAPES[name]
  if (!shape) throw new Error(`There is no shape ${name}: ${Object.keys(SHAPES).join(', ')}.`)
  const device = await open()
  const before = device.memory.bytes
  const start = performance.now()
  const core = await loadCore(device, syntheticSource(shape), { name, contextLength: 1024 })
  await device.idle()
  const load = (performance.now() - start) / 1000
  const memory = device.memory.bytes - before
  const speed = await measure(core, Number(options.prompt), Number(options.steps), BATCHES)
  const weightBytes = weightsOf(shape)
  rows.push([
    name,
    `${load.toFixed(1)} s`,
    `${Math.round(memory / 1048576)} MiB`,
    speed.prefill.toFixed(0),
    `${speed.firstToken.toFixed(0)} ms`,
    ...BATCHES.map((batch) => speed.decode.get(batch)!.toFixed(1)),
    `${((speed.decode.get(1)! * weightBytes) / 1e9).toFixed(1)} GB/s`,
  ])
  console.log(`${device.info.kind}: ${device.info.name}`)
  await core.close()
  device.destroy()
}
const head = [
  'model',
  'load',
  'memory',
  'prefill tok/s',
  `first of ${options.prompt}`,
  ...BATCHES.map((batch) => `decode tok/s x${batch}`),
  'weights read',
]
console.log(`| ${head.join(' | ')} |\n|${head.map(() => '---').join('|')}|`)
for (const row of rows) console.log(`| ${row.join(' | ')} |`)
process.exit(0)

/** Bytes of weights that a decoded token reads. */
function weightsOf({ hidden, inner, layers, heads, keyHeads, headSize, vocabulary }: (typeof SHAPES)[string]): number {
  const values = layers * hidden * ((2 * heads + 2 * keyHeads) * headSize + 3 * inner) + vocabulary * hidden
  return values * (0.5 + 2 / 32)
}
