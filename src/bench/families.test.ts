import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Device } from '../engines/webgpu/contract.js'
import { openCpuDevice } from '../engines/webgpu/cpu/index.js'
import { planModel } from '../engines/webgpu/model/plan-model.js'
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
    const count = of.tensors.reduce((sum, [, ...shape]) => sum + shape.reduce((a, b) => a * b), 0)
    const [, number, unit] = name.match(/-([\d.]+)([BM])-like$/)!
    const said = Number(number) * (unit === 'B' ? 1e9 : 1e6)
    expect(count / said).toBeGreaterThan(0.75)
    expect(count / said).toBeLessThan(1.25)
    expect(size.bytes.states > 0).toBe(/LFM2|Qwen3\.5/.test(name))
  })
})
