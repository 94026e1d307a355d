/** What is measured of one model on one device. */
import type { SampleSettings } from '../../src/decode/token-model.js'
import type { Core } from '../../src/engines/webgpu/core.js'

export interface Speed {
  /** Of a prompt, tokens a second. */
  readonly prefill: number
  /** From the prompt to its first token, milliseconds. */
  readonly firstToken: number
  /** Tokens a second over all sequences, by how many there are. */
  readonly decode: ReadonlyMap<number, number>
}

const SAMPLE: SampleSettings = {
  temperature: 0.8,
  topP: 0.95,
  seed: 1,
  index: 0,
  presencePenalty: 0,
  frequencyPenalty: 0,
}

export async function measure(core: Core, prompt: number, steps: number, batches: readonly number[]): Promise<Speed> {
  // Once unmeasured: pipelines are compiled, code is warm.
  await prefill(core, prompt)
  const seconds = await best(2, () => prefill(core, prompt))
  const decode = new Map<number, number>()
  for (const batch of batches) {
    await generate(core, batch, 4)
    const duration = await best(3, () => generate(core, batch, steps))
    decode.set(batch, (batch * steps) / duration)
  }
  return { prefill: prompt / seconds, firstToken: seconds * 1000, decode }
}

async function best(times: number, run: () => Promise<number>): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let i = 0; i < times; i++) least = Math.min(least, await run())
  return least
}

async function prefill(core: Core, length: number): Promise<number> {
  const sequence = core.open()
  const start = performance.now()
  for (let at = 0; at < length; at += core.maxChunk) {
    const tokens = Array.from({ length: Math.min(core.maxChunk, length - at) }, (_, i) => (at + i) % 1000)
    const last = at + core.maxChunk >= length
    await core.step([{ sequence, tokens, ...(last ? { sample: SAMPLE } : {}) }])
  }
  const seconds = (performance.now() - start) / 1000
  sequence.close()
  return seconds
}

/** Seconds for so many steps of so many sequences, each with a short prompt behind it. */
async function generate(core: Core, batch: number, steps: number): Promise<number> {
  const sequences = Array.from({ length: batch }, () => core.open())
  const tokens = Array.from({ length: 16 }, (_, i) => i)
  await core.step(sequences.map((sequence) => ({ sequence, tokens })))
  const start = performance.now()
  const inputs = sequences.map((sequence) => ({ sequence, tokens: [7], sample: SAMPLE }))
  for await (const _ of core.run(inputs, steps));
  const seconds = (performance.now() - start) / 1000
  for (const sequence of sequences) sequence.close()
  return seconds
}
