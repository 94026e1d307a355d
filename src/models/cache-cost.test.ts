import { afterAll, beforeAll, expect, it } from 'vitest'
import { gemma3 } from '../../test/oracles/families/gemma.js'
import { qwen35 } from '../../test/oracles/families/qwen3-5.js'
import type { SampleSettings } from '../contract/token-model.js'
import type { Device } from '../device/contract.js'
import { openCpuDevice } from '../device/cpu/index.js'
import { Chance } from '../device/operations/numbers.test-helper.js'
import type { PackedCacheType } from '../platform/index.js'
import { sourceOf } from './architectures/cases.test-helper.js'
import { costOf, meanCost, type StepCost } from './cache-cost.js'
import { loadCore } from './load.js'
import { planModel } from './plan-model.js'
import { PRESETS, randomModel } from './random-model.test-helper.js'

const KNOWN = 85
const SETTINGS: SampleSettings = {
  ...{ temperature: 0, topP: 1, seed: 0, index: 0, presencePenalty: 0, frequencyPenalty: 0, topLogprobs: 2 },
}
const chance = new Chance(3)
const TEXT = Array.from({ length: 100 }, () => chance.below(KNOWN))
const inBlocks = (preset: (typeof PRESETS)[number]) => ({ ...preset, model: { ...preset.model, head_dim: 32 } })
const LLAMA = PRESETS.find(({ name }) => name === 'Llama 3.2')!
const SLIDING = PRESETS.find(({ name }) => name === 'Mistral')!

let device: Device
beforeAll(async () => {
  device = await openCpuDevice()
})
afterAll(() => device.destroy())

/** Logits are made so many rows at a time as a batch has sequences. */
const open = (preset: (typeof PRESETS)[number], cacheType?: PackedCacheType, maxBatch = 8) =>
  loadCore(device, randomModel(inBlocks(preset), 'q4f16', 5).source, {
    ...{ tokens: KNOWN, maxChunk: 40, contextLength: 128, maxBatch, ...(cacheType && { cacheType }) },
  })

async function between(preset: (typeof PRESETS)[number], type: PackedCacheType | undefined): Promise<StepCost[]> {
  const [one, other] = [await open(preset), await open(preset, type, 3)]
  const steps: StepCost[] = []
  for await (const step of costOf(one, other, TEXT, KNOWN)) steps.push(step)
  await one.close()
  await other.close()
  return steps
}
const sum = (steps: readonly StepCost[]) => steps.reduce((sum, { divergence }) => sum + divergence, 0)

it('is asked of a model that says nothing where 8 bits are known to be faster, and can be had', () => {
  const packedOf = (on: Device, preset: typeof LLAMA = inBlocks(LLAMA), choosesCache = true) =>
    planModel(randomModel(preset, 'q4f16', 5).source, on, { choosesCache }).packed !== undefined
  const onGpu = Object.create(device, { info: { value: { ...device.info, kind: 'webgpu' } } }) as Device
  expect([packedOf(device), packedOf(device, inBlocks(SLIDING))]).toEqual([true, true])
  expect([packedOf(onGpu), packedOf(device, LLAMA), packedOf(device, inBlocks(LLAMA), false)]).toEqual([
    ...[false, false, false],
  ])
})

it.each([LLAMA, SLIDING])('tells what steps tell, of $name', async (preset) => {
  const steps = await between(preset, 'q8_0')
  expect(steps).toHaveLength(TEXT.length)
  for (const [i, type] of ([undefined, 'q8_0'] as const).entries()) {
    const core = await open(preset, type)
    const sequence = core.open()
    for (const [at, token] of TEXT.slice(0, -1).entries()) {
      const among = [TEXT[at + 1]!]
      const [sampled] = await core.step([{ sequence, tokens: [token], sample: { ...SETTINGS, among } }])
      expect(steps[at]!.next![i]).toBeCloseTo(sampled!.among![0]!, 4)
    }
    expect(steps.at(-1)!.next).toBeUndefined()
    await core.close()
  }
})

it('is nothing with the same cache, something in 8 bits, and more in 4', async () => {
  const same = await between(LLAMA, undefined)
  expect(same.every(({ divergence, isOther }) => Math.abs(divergence) < 1e-9 && !isOther)).toBe(true)
  const eight = await between(LLAMA, 'q8_0')
  for (const { divergence } of eight) expect(divergence).toBeGreaterThan(-1e-9)
  expect(sum(eight)).toBeGreaterThan(sum(same))
  expect(sum(await between(LLAMA, 'q4_0'))).toBeGreaterThan(sum(eight))
})

/** Windows, keys of other layers, states beside them, angles by layer. */
it.each([gemma3, qwen35])('is asked of $name once it is loaded, as of two models with either cache', async (of) => {
  const source = sourceOf(of, 'f16')
  const options = { contextLength: 64, maxBatch: 2 }
  const text = Array.from({ length: 60 }, (_, i) => (i * 7) % 50)
  const load = (cacheType?: PackedCacheType) =>
    loadCore(device, source, { ...options, ...(cacheType && { cacheType }) })
  const [one, other] = [await load(), await load('q8_0')]
  const cost = await meanCost(one, other, text, one.vocabSize)
  await one.close()
  await other.close()
  expect(cost).toBeGreaterThan(0)
  for (const isPacked of [true, false]) {
    const choices: { identity: string; cost: number }[] = []
    const trial = {
      text,
      async choose(identity: string, measure: () => Promise<number>) {
        choices.push({ identity, cost: await measure() })
        return isPacked
      },
    }
    const before = device.memory.bytes
    const core = await loadCore(device, source, { ...options, cacheType: 'auto', trial })
    expect(choices).toEqual([{ identity: expect.stringMatching(/^fp_/), cost }])
    const same = await load(isPacked ? 'q8_0' : undefined)
    expect(core.fingerprint).toBe(same.fingerprint)
    await same.close()
    await core.close()
    expect(device.memory.bytes).toBe(before)
  }
})

it('goes on in a sequence that has tokens, and gives its pages back', async () => {
  const core = await open(LLAMA)
  const free = core.freeTokens
  const rowsOf = async (...parts: readonly (readonly number[])[]) => {
    const sequence = core.open()
    const rows: number[] = []
    for (const part of parts) for await (const row of core.logits(sequence, part)) rows.push(...row)
    sequence.close()
    return rows
  }
  const whole = await rowsOf(TEXT)
  expect(whole).toHaveLength(TEXT.length * core.vocabSize)
  expect(await rowsOf(TEXT.slice(0, 40), TEXT.slice(40))).toEqual(whole)
  expect(core.freeTokens).toBe(free)
  await core.close()
})
