import type { StepInput } from '../../src/decode/token-model.js'
import type { Core } from '../../src/engines/webgpu/core.js'

export const GREEDY = { temperature: 0, topP: 1, seed: 0, presencePenalty: 0, frequencyPenalty: 0 }

/** Tokens per second of `count` sequences that decode together. */
export async function decodeSpeed(core: Core, count: number, steps: number): Promise<number> {
  const sequences = Array.from({ length: count }, () => core.open())
  const prompt = Array.from({ length: 16 }, (_, i) => i + 1)
  let inputs: StepInput[] = sequences.map((sequence) => ({ sequence, tokens: prompt, sample: { ...GREEDY, index: 0 } }))
  let start = 0
  for (let step = 0; step <= steps; step++) {
    const results = await core.step(inputs)
    if (step === 0) start = performance.now()
    inputs = sequences.map((sequence, i) => ({
      sequence,
      tokens: [results[i]!.token],
      sample: { ...GREEDY, index: step + 1 },
    }))
  }
  const seconds = (performance.now() - start) / 1000
  for (const sequence of sequences) sequence.close()
  return (count * steps) / seconds
}
