import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Device } from '../device/contract.js'
import { openCpuDevice } from '../device/cpu/index.js'
import { planModel } from '../models/plan-model.js'
import { FAMILIES } from './families.js'
import { syntheticWeights } from './synthetic.js'

describe('made-up models of families', () => {
  let device: Device
  beforeAll(async () => {
    device = await openCpuDevice({ threads: 1 })
  })
  afterAll(() => device.destroy())

  it.each(Object.entries(FAMILIES))('%s is one, and of the size that its name says', (name, make) => {
    const of = make()
    const { model, size } = planModel(syntheticWeights(of), device)
    expect(model.layers).toHaveLength(Number(of.config.num_hidden_layers))
    // What stays with the host is not in the size that Gemma 4 is called by.
    const inDevice = of.tensors.filter(([name]) => !name.endsWith('embed_tokens_per_layer'))
    const count = inDevice.reduce((sum, [, ...shape]) => sum + shape.reduce((a, b) => a * b), 0)
    expect(size.bytes.host > 0).toBe(inDevice.length < of.tensors.length)
    const [, number, unit] = name.match(/-E?([\d.]+)([BM])-like$/)!
    const nominal = Number(number) * (unit === 'B' ? 1e9 : 1e6)
    expect(count / nominal).toBeGreaterThan(0.75)
    expect(count / nominal).toBeLessThan(1.25)
    expect(size.bytes.states > 0).toBe(/LFM2|Qwen3\.5/.test(name))
  })
})
