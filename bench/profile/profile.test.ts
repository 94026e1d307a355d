import { afterEach, describe, expect, it } from 'vitest'
import type { Device } from '../../src/device/contract.js'
import type { GpuDevice } from '../../src/device/gpu/gpu-device.js'
import { openWebGpuDevice } from '../../src/device/gpu/index.js'
import { sourceOf } from '../../src/models/architectures/cases.test-helper.js'
import { loadCore } from '../../src/models/load.js'
import { PRESETS, randomModel } from '../../src/models/random-model.test-helper.js'
import { gptOss } from '../../test/oracles/families/gpt-oss.js'
import { softwareGpu } from '../../test/support/swiftshader.js'
import { profiled } from './carry-out.js'
import { type OpenedDevice, profileModel } from './measure.js'
import { openProfiled } from './open-device.js'
import { type Part, sum } from './profile.js'
import { printed } from './table.js'
import { watch } from './watched-device.js'

const PRESET = PRESETS.find(({ name }) => name === 'SmolLM2')!
const LAYERS = PRESET.model.num_hidden_layers as number
const { source } = randomModel(PRESET, 'q4f16', 1)
/** Prompts of few rows: a software GPU takes seconds to compile the kernels of more. */
const OPTIONS = { prompt: 2, batch: 2, steps: 2 }

let opened: OpenedDevice | undefined
afterEach(() => {
  opened?.timer.destroy()
  opened?.device.destroy()
  opened = undefined
})

/** The parts of the work that every decoder has, each as often as it must be. */
function expectWhole(parts: readonly Part[]): void {
  expect(parts).toHaveLength(2)
  for (const { rows, milliseconds, unprofiled, profiled, outside } of parts) {
    const countOf = (operation: string, kernel: RegExp) => {
      return sum(rows.filter((row) => row.operation === operation && kernel.test(row.kernel)).map(({ count }) => count))
    }
    for (const name of ['queries, keys, values', 'attention out', 'gate and up', 'down']) {
      expect([name, countOf(name, /matvec|product/)]).toEqual([name, LAYERS])
    }
    expect(countOf('attention', /attend/)).toBe(LAYERS)
    expect(countOf('logits', /matvec|product/)).toBe(1)
    expect(countOf('sample', /scan|^sample$/)).toBe(1)
    expect(sum(rows.map(({ share }) => share))).toBeCloseTo(1, 9)
    expect(sum(rows.map((row) => row.milliseconds))).toBeCloseTo(milliseconds, 9)
    expect(rows.filter(({ operation }) => operation === 'other')).toEqual([])
    for (const time of [unprofiled, profiled]) expect(time).toBeGreaterThan(0)
    // What a step consists of is the step.
    expect(sum(outside.slice(0, 4).map((each) => each.milliseconds))).toBeCloseTo(unprofiled, 6)
  }
}

async function tokensOf({ device, timer, current }: OpenedDevice, timed: boolean) {
  const core = await loadCore(
    watch(device, current, timer, () => {}),
    source,
    { contextLength: 64, maxBatch: 2 },
  )
  const sample = { temperature: 0.8, topP: 0.9, seed: 3, presencePenalty: 0, frequencyPenalty: 0, topLogprobs: 3 }
  const sequence = core.open()
  const found = []
  let tokens = [5, 9]
  timer.on = timed
  for (let index = 0; index < 4; index++) {
    const [sampled] = await core.step([{ sequence, tokens, sample: { ...sample, index } }])
    found.push(sampled)
    tokens = [sampled!.token]
  }
  timer.on = false
  await timer.collect()
  await core.close()
  return found
}

describe('a profile on WebGPU', () => {
  const open = async () => openProfiled({ device: 'webgpu', gpu: await softwareGpu(), kernels: 'software' })

  it('has every dispatch of a prompt and of a step, and leaves nothing behind', async () => {
    opened = await open()
    const { device: raw } = (opened.device as GpuDevice).gpu
    const live = new Set<GPUBuffer>()
    const createBuffer = raw.createBuffer.bind(raw)
    raw.createBuffer = (descriptor) => {
      const buffer = createBuffer(descriptor)
      const destroy = buffer.destroy.bind(buffer)
      live.add(buffer)
      buffer.destroy = () => {
        live.delete(buffer)
        return destroy()
      }
      return buffer
    }
    const dispatched = countDispatches(raw)
    const parts = await profileModel(opened, source, OPTIONS)
    expectWhole(parts)
    // The whole run ended with untimed steps of decoding.
    expect(sum(parts[1]!.rows.map(({ count }) => count))).toBe(dispatched.inLastSubmit)
    expect(parts.flatMap(({ rows }) => rows).every(({ milliseconds }) => milliseconds >= 0)).toBe(true)
    opened.timer.destroy()
    opened.device.destroy()
    expect(live.size).toBe(0)
  })

  it('changes no token', async () => {
    opened = await open()
    expect(await tokensOf(opened, true)).toEqual(await tokensOf(opened, false))
  })

  it('says what is missing where nothing tells the time', async () => {
    const gpu = await softwareGpu()
    const adapter = (await gpu.requestAdapter())!
    const features = new Set([...adapter.features].filter((name) => name !== 'timestamp-query'))
    const poorer = new Proxy(adapter, {
      get(target, name) {
        if (name === 'features') return features
        const value = Reflect.get(target, name)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    const without = { requestAdapter: async () => poorer } as unknown as GPU
    await expect(openProfiled({ device: 'webgpu', gpu: without })).rejects.toMatchObject({
      status: 503,
      message: expect.stringContaining('timestamp-query'),
    })
    // Whoever does not profile needs none.
    const device = await openWebGpuDevice({ gpu: without })
    device.destroy()
  })
})

describe('a profile on the CPU', () => {
  it('shows that the last layer of a prompt computes its last row alone', async () => {
    opened = await openProfiled({ device: 'cpu' })
    const [prompt, step] = await profileModel(opened, source, { prompt: 6, batch: 1, steps: 1 })
    const work = (part: Part, name: string) => {
      return sum(part.rows.filter(({ operation }) => operation === name).map((row) => row.multiplications))
    }
    for (const name of ['attention out', 'gate and up', 'down']) {
      expect(work(prompt!, name) / work(step!, name)).toBe((6 * (LAYERS - 1) + 1) / LAYERS)
    }
    expect(work(prompt!, 'queries, keys, values') / work(step!, 'queries, keys, values')).toBe(6)
  })

  it('has every operation of a prompt and of a step', async () => {
    opened = await openProfiled({ device: 'cpu' })
    expectWhole(await profileModel(opened, source, OPTIONS))
  })

  it('changes no token', async () => {
    opened = await openProfiled({ device: 'cpu' })
    expect(await tokensOf(opened, true)).toEqual(await tokensOf(opened, false))
  })

  it('is a table of a model by its name', async () => {
    const profile = await profiled({ ...OPTIONS, version: '0', model: 'made-up/nano-like', device: 'cpu' })
    const table = printed(profile)
    expect(table).toContain('made-up/nano-like on cpu')
    for (const { operation, kernel } of profile.parts.flatMap(({ rows }) => rows)) {
      expect(table).toMatch(new RegExp(`^${operation} +${kernel} `, 'm'))
    }
    expect(table).not.toMatch(/NaN|undefined|Infinity/)
  })

  it('refuses a model that there is not, and keeps nothing of it', async () => {
    const order = { ...OPTIONS, version: '0', model: 'made-up/nothing', device: 'cpu' as const }
    await expect(profiled(order)).rejects.toThrow(/there are made-up\//)
  })
})

it.each(['cpu', 'webgpu'] as const)(
  'a profile on %s shows all that operations cost by their definitions, those of experts too',
  async (device) => {
    opened = await openProfiled({
      device,
      ...(device === 'webgpu' && { gpu: await softwareGpu(), kernels: 'software' }),
    })
    const { timer, current } = opened
    const costs = costsOf(opened.device)
    const watched = watch(opened.device, current, timer, () => {})
    const core = await loadCore(watched, sourceOf(gptOss, 'f32'), { contextLength: 64, maxBatch: 1 })
    timer.on = true
    await core.step([{ sequence: core.open(), tokens: [5, 9, 4] }])
    const timed = await timer.collect()
    await core.close()
    const shown = (operation?: string) => {
      const rows = timed.filter((row) => operation === undefined || row.operation === operation)
      return [sum(rows.map(({ bytes }) => bytes)), sum(rows.map(({ multiplications }) => multiplications))]
    }
    expect(costs.get('expertMatmul')!.every((amount) => amount > 0)).toBe(true)
    // Shares of a whole are rounded.
    const near = (amounts: readonly number[]) => amounts.map((amount) => expect.closeTo(amount, 3))
    expect(shown('expertMatmul')).toEqual(near(costs.get('expertMatmul')!))
    expect(shown()).toEqual(near([0, 1].map((which) => sum([...costs.values()].map((cost) => cost[which]!)))))
  },
)

/** Bytes and multiplications of all that is run, by its operation's own definition. */
function costsOf(device: Device): ReadonlyMap<string, readonly number[]> {
  const costs = new Map<string, readonly number[]>()
  const begin = device.begin.bind(device)
  device.begin = (batch) => {
    const pass = begin(batch)
    const run = pass.run.bind(pass)
    const { spans } = batch
    const longest = Math.max(...spans.map(({ tokens, position }) => position + tokens.length))
    pass.run = (operation, ...operands) => {
      const cost = operation.cost?.({ spans, rows: pass.rows, longest }, ...operands) ?? {}
      const { weights = 0, cache = 0, logits = 0, multiplications = 0 } = cost
      const [bytes, products] = costs.get(operation.name) ?? [0, 0]
      costs.set(operation.name, [bytes! + weights + cache + logits, products! + multiplications])
      run(operation, ...operands)
    }
    return pass
  }
  return costs
}

/** Dispatches by submits, counted beneath everything that is tested. */
function countDispatches(device: GPUDevice): { readonly inLastSubmit: number } {
  let open = 0
  const counted = { inLastSubmit: 0 }
  const createCommandEncoder = device.createCommandEncoder.bind(device)
  device.createCommandEncoder = (descriptor) => {
    const encoder = createCommandEncoder(descriptor)
    const beginComputePass = encoder.beginComputePass.bind(encoder)
    encoder.beginComputePass = (how) => {
      const pass = beginComputePass(how)
      const dispatchWorkgroups = pass.dispatchWorkgroups.bind(pass)
      pass.dispatchWorkgroups = (...groups) => {
        open++
        return dispatchWorkgroups(...groups)
      }
      return pass
    }
    return encoder
  }
  const submit = device.queue.submit.bind(device.queue)
  device.queue.submit = (buffers) => {
    counted.inLastSubmit = open
    open = 0
    return submit(buffers)
  }
  return counted
}
