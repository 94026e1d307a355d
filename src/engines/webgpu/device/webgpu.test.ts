import { describe, expect, it } from 'vitest'
import { softwareGpu } from '../../../../test/support/swiftshader.js'
import { loadCore } from '../model/load.js'
import { PRESETS, randomModel } from '../model/random-model.test-helper.js'
import type { GpuDevice } from './gpu/gpu-device.js'
import { openWebGpuDevice } from './webgpu.js'

const { source } = randomModel(PRESETS[0]!, 'f32', 1)
const GREEDY = { temperature: 0, topP: 1, seed: 0, index: 0, presencePenalty: 0, frequencyPenalty: 0 }

describe('the WebGPU device', () => {
  it('fails what runs when it is lost, says so once, and a new one takes over', async () => {
    const gpu = await softwareGpu()
    const device = (await openWebGpuDevice({ gpu })) as GpuDevice
    const core = await loadCore(device, source, { contextLength: 64 })
    const sequence = core.open()
    await core.step([{ sequence, tokens: [1, 2], sample: GREEDY }])
    const running = core.step([{ sequence, tokens: [3], sample: GREEDY }])
    // What a driver's reset looks like from here.
    device.gpu.device.destroy()
    await expect(running).rejects.toMatchObject({ status: 503, code: 'device_lost' })
    expect(await device.lost).toMatchObject({ status: 503, code: 'device_lost' })
    await expect(core.step([{ sequence, tokens: [4], sample: GREEDY }])).rejects.toMatchObject({ code: 'device_lost' })
    await core.close()
    device.destroy()

    const next = await openWebGpuDevice({ gpu })
    const rebuilt = await loadCore(next, source, { contextLength: 64 })
    const [result] = await rebuilt.step([{ sequence: rebuilt.open(), tokens: [1, 2], sample: GREEDY }])
    expect(result!.token).toBeGreaterThanOrEqual(0)
    await rebuilt.close()
    next.destroy()
  })

  it('says what is short before anything is uploaded', async () => {
    const device = await openWebGpuDevice({ gpu: await softwareGpu() })
    const before = device.memory
    const huge = {
      ...source,
      describe: (name: string) =>
        name === 'model.embed_tokens.weight'
          ? { name, shape: [1 << 20, 4096], dtype: 'f32' as const }
          : source.describe(name),
      read: () => Promise.reject(new Error('nothing is read')),
    }
    await expect(loadCore(device, huge, { name: 'org/huge' })).rejects.toMatchObject({
      code: 'device_too_small',
      message: expect.stringMatching(/org\/huge .*16384 MiB for model\.embed_tokens\.weight.* allows \d+ MiB/),
    })
    expect(device.memory).toEqual(before)
    device.destroy()
  })

  it('refuses a software adapter where hardware is asked for', async () => {
    const opened = openWebGpuDevice({ gpu: await softwareGpu(), hardwareOnly: true })
    await expect(opened).rejects.toMatchObject({ status: 503, message: expect.stringMatching(/software/) })
  })
})
