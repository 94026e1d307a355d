/**
 * Real weights through the whole core: `npx tsx scripts/check-real.ts [cpu|webgpu]...`. stories15M in three forms goes
 * on from "Once upon a time"; every token must be the one that plain loops over the same weights find most likely.
 */

import type { Device } from '../src/device/contract.js'
import { openCpuDevice } from '../src/device/cpu/index.js'
import { openWebGpuDevice } from '../src/device/gpu/index.js'
import { GREEDY } from '../src/generate/answer/sampling.js'
import type { WeightSource } from '../src/models/files/source.js'
import { loadCore } from '../src/models/load.js'
import { ReferenceDecoder } from '../src/models/reference.test-helper.js'
import { softwareGpu } from '../test/support/swiftshader.js'
import { convert, MODEL_CONFIG, readStories, type StoryForm } from './stories.js'

const COUNT = 60

const DEVICES: Readonly<Record<string, () => Promise<Device>>> = {
  cpu: () => openCpuDevice(),
  'cpu-exact': () => openCpuDevice({ exact: true }),
  webgpu: async () => openWebGpuDevice({ gpu: await softwareGpu() }),
}

async function tell(device: Device, source: WeightSource, prompt: readonly number[]): Promise<number[]> {
  const core = await loadCore(device, source, { name: 'stories15M' })
  const sequence = core.open()
  const story: number[] = []
  for await (const [result] of core.run([{ sequence, tokens: prompt, sample: GREEDY }], COUNT)) {
    story.push(result!.token)
  }
  await core.close()
  return story
}

/** How much less likely than the best each token was, in nats, and how many were not the best. */
function judge(reference: ReferenceDecoder, prompt: readonly number[], story: readonly number[]) {
  const rows = reference.logits([...prompt, ...story.slice(0, -1)])
  let off = 0
  let worst = 0
  story.forEach((token, i) => {
    const logits = rows[prompt.length - 1 + i]!
    const behind = Math.max(...logits) - logits[token]!
    if (behind > 0) off++
    worst = Math.max(worst, behind)
  })
  return { off, worst }
}

const wanted = process.argv.slice(2)
const { parts, tokens } = await readStories()
const prompt = [1, ...[' Once', ' upon', ' a', ' time'].map((piece) => tokens.indexOf(piece))]
let failed = false
for (const form of ['q0f32', 'q0f16', 'q4f16_1'] as const satisfies readonly StoryForm[]) {
  const { source, values } = convert(parts, form)
  const reference = new ReferenceDecoder({ name: form, config: {}, model: MODEL_CONFIG }, values)
  for (const name of wanted.length > 0 ? wanted : Object.keys(DEVICES)) {
    const start = performance.now()
    const device = await DEVICES[name]!()
    const story = await tell(device, source, prompt)
    device.destroy()
    const seconds = ((performance.now() - start) / 1000).toFixed(1)
    const text = [...prompt.slice(1), ...story].map((token) => tokens[token]).join('')
    const { off, worst } = judge(reference, prompt, story)
    // Activations rounded to 8 bits may turn a near tie; anything else must agree on every token.
    const rounds = name === 'cpu' && form === 'q4f16_1'
    const reads = /^ Once upon a time, there was a .+\. .+\./s.test(text) && !/[^\x20-\x7e\n]/.test(text)
    const good = reads && (rounds ? worst < 0.5 : off === 0)
    failed ||= !good
    console.log(
      `${good ? 'ok' : 'FAILED'}  ${form} on ${name}: ${off} of ${COUNT} differ, by ${worst.toFixed(3)} nats; ${seconds} s`,
    )
    console.log(`   ${text.trim().replaceAll('\n', ' ')}`)
  }
}
process.exit(failed ? 1 : 0)
