import { describe, expect, it } from 'vitest'
import { sharedGpu } from '../../../test/support/shared-gpu.js'
import { softwareGpu } from '../../../test/support/swiftshader.js'
import { GREEDY } from '../../generate/answer/sampling.js'
import { loadCore } from '../../models/load.js'
import { planModel } from '../../models/plan-model.js'
import { PRESETS, randomModel } from '../../models/random-model.test-helper.js'
import type { GpuDevice } from './gpu-device.js'
import { isSoftware, openWebGpuDevice } from './index.js'

const adapter = await (await softwareGpu()).requestAdapter()
const { source } = randomModel(PRESETS[0]!, 'f32', 1)

describe('the WebGPU device', () => {
  it('fails what runs when it is lost, says so once, and a new one takes over', async () => {
    const gpu = await softwareGpu()
    const device = (await openWebGpuDevice({ gpu })) as GpuDevice
    const core = await loadCore(device, source, { contextLength: 64 })
    const sequence = core.open()
    // One token at a time: kernels for several are others, which each device compiles anew.
    await core.step([{ sequence, tokens: [1], sample: GREEDY }])
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
    const [result] = await rebuilt.step([{ sequence: rebuilt.open(), tokens: [1], sample: GREEDY }])
    expect(result!.token).toBeGreaterThanOrEqual(0)
    await rebuilt.close()
    next.destroy()
  })

  it('says what is short before anything is uploaded', async () => {
    const device = await openWebGpuDevice({ gpu: await softwareGpu(), bindingBytes: 4096 })
    const before = device.memory
    const unread = { ...source, read: () => Promise.reject(new Error('nothing is read')) }
    await expect(loadCore(device, unread, { name: 'org/wide' })).rejects.toMatchObject({
      status: 503,
      code: 'device_too_small',
      message: expect.stringMatching(/org\/wide .* needs \d+ bytes in one buffer .* allows 4096 bytes/),
    })
    expect(device.memory).toEqual(before)
    device.destroy()
  })

  it('keeps what it said it would take, and gives all of it back', async () => {
    const device = await openWebGpuDevice({ gpu: await sharedGpu() })
    const before = device.memory.bytes
    const options = { contextLength: 128, maxBatch: 2 }
    const { total } = planModel(source, device, options).size.bytes
    const core = await loadCore(device, source, options)
    await core.step([{ sequence: core.open(), tokens: [1, 2], sample: GREEDY }])
    // What is not counted: a few buffers of 16 KiB at most, for a batch and its settings.
    const taken = device.memory.bytes - before
    expect(taken).toBeGreaterThan(total / 2)
    expect(taken).toBeLessThan(total + 65536)
    await core.close()
    device.destroy()
    expect(device.memory).toEqual({ bytes: 0, buffers: 0 })
  })

  it('answers alike with matrices in parts and whole, in one submit and in many, prepared or not', async () => {
    const gpu = await softwareGpu()
    const found = []
    for (const options of [{}, { bindingBytes: 40960, submitWork: 1 }]) {
      const device = (await openWebGpuDevice({ gpu, ...options })) as GpuDevice
      const core = await loadCore(device, source, { contextLength: 64, maxBatch: 1 })
      const { queue } = device.gpu.device
      const submit = queue.submit.bind(queue)
      let submits = 0
      queue.submit = (buffers) => {
        submits++
        return submit(buffers)
      }
      const phases: number[] = []
      if (options.submitWork) await core.prepare((done, of) => phases.push(done / of))
      let compiled = 0
      const compile = device.gpu.device.createComputePipeline.bind(device.gpu.device)
      device.gpu.device.createComputePipeline = (descriptor) => {
        compiled++
        return compile(descriptor)
      }
      const sequence = core.open()
      const prompt = Array.from({ length: 30 }, (_, i) => (i * 7) % 80)
      const sample = { ...GREEDY, topLogprobs: 5 }
      const [first] = await core.step([{ sequence, tokens: prompt, sample }])
      const [second] = await core.step([{ sequence, tokens: [first!.token], sample: { ...sample, index: 1 } }])
      found.push([first, second])
      if (options.submitWork) {
        // A pass of two layers has nine products, the second in parts too: each begins a submit of its own.
        expect(submits).toBeGreaterThan(2 * 5)
        expect(phases.at(-1)).toBe(1)
        expect(compiled).toBe(0)
      } else {
        expect(submits).toBe(2)
        expect(compiled).toBeGreaterThan(0)
      }
      await core.close()
      device.destroy()
    }
    expect(found[1]).toEqual(found[0])
  })

  it.skipIf(!isSoftware(adapter!))('refuses a software adapter where hardware is asked for', async () => {
    const opened = openWebGpuDevice({ gpu: await softwareGpu(), hardwareOnly: true })
    await expect(opened).rejects.toMatchObject({ status: 503, message: expect.stringMatching(/software/) })
  })
})
