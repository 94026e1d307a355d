/**
 * How fast the CPU device decodes: tokens per second for one, four and eight sequences and for a prompt, on one thread
 * and on all, beside a plain JavaScript loop in the same run. `tsx bench/cpu/main.ts [--shape 3M] [--rounds 3]`
 */
import { parseArgs } from 'node:util'
import type { Core } from '../../src/engines/webgpu/core.js'
import { openCpuDevice } from '../../src/engines/webgpu/device/cpu/index.js'
import { loadCore } from '../../src/engines/webgpu/model/load.js'
import { decodeSpeed, GREEDY } from './decode.js'
import { plainDecoder } from './plain.js'
import { parameters, randomSource, SHAPES, type Shape } from './shapes.js'

const CONTEXT = 512
const PROMPT = 64

const { values: options } = parseArgs({
  options: {
    shape: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    steps: { type: 'string', default: '40' },
    exact: { type: 'boolean', default: false },
  },
})

async function prefillSpeed(core: Core): Promise<number> {
  const sequence = core.open()
  const tokens = Array.from({ length: PROMPT }, (_, i) => i + 1)
  const start = performance.now()
  await core.step([{ sequence, tokens, sample: { ...GREEDY, index: 0 } }])
  const seconds = (performance.now() - start) / 1000
  sequence.close()
  return PROMPT / seconds
}

function plainSpeed(step: (position: number) => void): number {
  for (let i = 0; i < 4; i++) step(i)
  const start = performance.now()
  let steps = 0
  while (performance.now() - start < 600 || steps < 4) step(16 + (steps++ % 40))
  return steps / ((performance.now() - start) / 1000)
}

const best = (values: number[]) => Math.max(...values)
const median = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1]!

async function measure(of: Shape): Promise<Record<string, string | number>[]> {
  const plain = parameters(of) < 60e6 ? plainDecoder(of) : undefined
  if (plain) for (let i = 0; i < 16; i++) plain(i)
  const rows: Record<string, string | number>[] = []
  const machines: { core: Core; name: string; results: Record<string, number[]> }[] = []
  for (const threads of [1, undefined]) {
    const device = await openCpuDevice({ threads, exact: options.exact })
    const core = await loadCore(device, randomSource(of, CONTEXT), { contextLength: CONTEXT })
    machines.push({ core, name: device.info.name, results: { one: [], four: [], eight: [], prompt: [], plain: [] } })
  }
  const steps = Number(options.steps)
  // In turn, so that what else the machine does falls on all alike.
  for (let round = 0; round <= Number(options.rounds); round++) {
    for (const { core, results } of machines) {
      const values = {
        one: await decodeSpeed(core, 1, steps),
        four: await decodeSpeed(core, 4, steps),
        eight: await decodeSpeed(core, 8, steps),
        prompt: await prefillSpeed(core),
        plain: plain ? plainSpeed(plain) : Number.NaN,
      }
      if (round > 0) for (const [key, value] of Object.entries(values)) results[key]!.push(value)
    }
  }
  for (const { core, name, results } of machines) {
    const [one, four, eight, prompt, loop] = Object.values(results).map(median) as [
      number,
      number,
      number,
      number,
      number,
    ]
    rows.push({
      model: of.name,
      device: name,
      'decode x1': Math.round(one),
      x4: Math.round(four),
      x8: Math.round(eight),
      'x8 / x1': (best(results.eight!) / best(results.one!)).toFixed(2),
      prompt: Math.round(prompt),
      'plain loop': Number.isNaN(loop) ? '' : Math.round(loop),
      'x1 / plain': Number.isNaN(loop) ? '' : (best(results.one!) / best(results.plain!)).toFixed(1),
    })
    await core.close()
    core.device.destroy()
  }
  return rows
}

const table: Record<string, string | number>[] = []
for (const of of SHAPES) {
  if (options.shape && of.name !== options.shape) continue
  table.push(...(await measure(of)))
}
console.log(
  'Tokens per second, medians; ratios of the best rounds, which other load disturbs least. Random 4-bit weights.',
)
console.table(table)
