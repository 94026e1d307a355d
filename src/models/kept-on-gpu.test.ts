import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { gemma4 } from '../../test/oracles/families/gemma4.js'
import { lfm2 } from '../../test/oracles/families/lfm2.js'
import { qwen35 } from '../../test/oracles/families/qwen3-5.js'
import { FULL } from '../../test/support/full.js'
import type { Sampled } from '../contract/token-model.js'
import type { Device } from '../device/contract.js'
import { DEVICES } from '../device/operations/devices.test-helper.js'
import { Chance } from '../device/operations/numbers.test-helper.js'
import { GREEDY, sourceOf } from './architectures/cases.test-helper.js'
import type { Core } from './core.js'
import { loadPlanned } from './load.js'
import { planModel } from './plan-model.js'

// The other cut computes the same from the same batches, and takes minutes in software.
const GPUS = DEVICES.filter(({ name }) => name === 'webgpu, cut for software')

// What is kept of sequences beside keys and values of all tokens: states, and windows so small that they run short.
describe.each(GPUS)('sequences on $name', ({ open }) => {
  let device: Device
  beforeAll(async () => {
    device = await open()
  })
  afterAll(() => device.destroy())

  // States are kept alike whatever they are of: by default the larger of the two.
  it.each([
    ...(FULL ? [{ name: 'lfm2', of: lfm2, size: { slots: 6 } }] : []),
    { name: 'qwen3_5', of: qwen35, size: { slots: 6 } },
    { name: 'gemma4', of: gemma4, size: { window: 32, windowPages: 18 } },
  ])(
    '$name: in a batch, in a copy, cut and driven out they answer as alone and from the beginning',
    async ({ of, size }) => {
      const source = sourceOf(of, 'f32')
      const plan = planModel(source, device, { contextLength: 96, cacheTokens: 640, maxBatch: 3, maxChunk: 32 })
      const core = await loadPlanned(device, source, { ...plan, size: { ...plan.size, ...size } })
      const chance = new Chance(13)
      const words = (count: number) => Array.from({ length: count }, () => 259 + chance.below(300))
      const texts = [words(41), words(6), words(19)]
      const alone: Sampled[] = []
      for (const tokens of texts) alone.push(await fresh(core, tokens))
      const sequences = texts.map(() => core.open())
      const batch = texts.map((tokens, i) => ({ sequence: sequences[i]!, tokens, sample: GREEDY }))
      // Company changes nothing at all; where a text is cut into passes may round in another way.
      expect(await core.step(batch)).toEqual(alone)
      const copy = sequences[0]!.clone()
      const next = texts.map((tokens, i) => [...tokens, alone[i]!.token])
      const stepped = await core.step(
        next.map((tokens, i) => ({ sequence: sequences[i]!, tokens: tokens.slice(-1), sample: GREEDY })),
      )
      for (const [i, tokens] of next.entries()) alike(stepped[i]!, await fresh(core, tokens))
      // It may have been driven out itself.
      copy.truncate(Math.min(30, copy.length))
      const other = [...texts[0]!.slice(0, 30), ...words(7)]
      const [resumed] = await core.step([{ sequence: copy, tokens: other.slice(copy.length), sample: GREEDY }])
      alike(resumed!, await fresh(core, other))
      // Each of them may have lost what it stood at by now, and says so.
      const last = next.map((tokens, i) => [...tokens, stepped[i]!.token])
      const again = last.map((tokens, i) => {
        return { sequence: sequences[i]!, tokens: tokens.slice(sequences[i]!.length), sample: GREEDY }
      })
      const answers = await core.step(again)
      for (const [i, tokens] of last.entries()) alike(answers[i]!, await fresh(core, tokens))
      await core.close()
    },
    400_000,
  )
})

async function fresh(core: Core, tokens: readonly number[]): Promise<Sampled> {
  const sequence = core.open()
  const [sampled] = await core.step([{ sequence, tokens, sample: GREEDY }])
  sequence.close()
  return sampled!
}

/** In f32 the order of sums is all that differs. */
function alike(one: Sampled, other: Sampled): void {
  const of = new Map(one.top!.map(({ token, logprob }) => [token, logprob]))
  const shared = other.top!.filter(({ token }) => of.has(token))
  expect(shared.length).toBeGreaterThan(17)
  for (const { token, logprob } of shared) expect(Math.abs(of.get(token)! - logprob)).toBeLessThan(2e-3)
}
