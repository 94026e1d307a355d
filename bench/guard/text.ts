/**
 * How often a GPU has nothing to do while a plain text is written: through the whole service, with as many passes ahead as
 * the engine takes by itself, on a GPU that computes nothing.
 */
import { GpuDevice } from '../../src/device/gpu/gpu-device.js'
import { WebGpuEngine } from '../../src/engines/webgpu/engine.js'
import { tinyRepository } from '../../src/engines/webgpu/tiny-repository.test-helper.js'
import { smallTokenizer } from '../../src/generate/testing/small-tokenizer.test-helper.js'
import { createV1 } from '../../src/index.js'
import type { Counts } from './compare.js'
import { GPUS } from './steps.js'
import { StillGpu } from './still-gpu.js'

const MODEL = 'guard/still'
const TOKENS = 64

export async function countText(): Promise<Counts> {
  const gpu = new StillGpu()
  const about = { name: 'still', reason: 'It is counted.', traits: GPUS['with f16']!, submitWork: 2 ** 33 }
  const engine = new WebGpuEngine(
    // What is gained by guesses is found out by a clock.
    { models: [MODEL], drafts: 'never', log: () => {} },
    {
      openDevice: async () => new GpuDevice(gpu.device, about),
      openRepository: async () => ({ weights: tinyRepository(1).source, text: smallTokenizer() }),
    },
  )
  const v1 = createV1({ engine, keys: 'none' })
  const ask = async () => {
    const messages = [{ role: 'user', content: 'the quick brown fox' }]
    const response = await v1.fetch(
      new Request('http://localhost/v1/chat/completions', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: MODEL, messages, max_tokens: TOKENS, temperature: 0 }),
      }),
    )
    const body = (await response.json()) as { readonly usage?: { readonly completion_tokens: number } }
    if (!body.usage) throw new Error(JSON.stringify(body))
    return body.usage.completion_tokens
  }
  try {
    // What a first one makes stays.
    await ask()
    gpu.take()
    const tokens = await ask()
    const { submits, stalls } = gpu.take().counts
    return { 'tokens of the answer': tokens, submits, stalls }
  } finally {
    await v1.close()
  }
}
