import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Device } from '../device/contract.js'
import { openCpuDevice } from '../device/cpu/index.js'
import type { CacheTypeChoice, PackedCacheType } from '../platform/index.js'
import { defaultCacheTokens } from './cache-size.js'
import { loadCore } from './load.js'
import { planModel } from './plan-model.js'
import { PRESETS, randomModel } from './random-model.test-helper.js'

const SHAPE = { hidden_size: 256, intermediate_size: 768, vocab_size: 2048, num_hidden_layers: 3 }

describe('the size of a model', () => {
  let device: Device
  beforeAll(async () => {
    device = await openCpuDevice({ threads: 2 })
  })
  afterAll(() => device.destroy())

  it.each(['q4f16', 'f16', 'f32'] as const)('is known before it is loaded, on the CPU in %s', async (format) => {
    const preset = PRESETS[0]!
    const { source } = randomModel({ ...preset, model: { ...preset.model, ...SHAPE } }, format, 3)
    const options = { contextLength: 256, maxBatch: 2, maxChunk: 64 }
    const { bytes } = planModel(source, device, options).size
    const before = device.memory.bytes
    const core = await loadCore(device, source, options)
    const [one, two] = [core.open(), core.open()]
    const tokens = Array.from({ length: 64 }, (_, i) => i)
    const sample = { temperature: 0, topP: 1, seed: 0, index: 0, presencePenalty: 0, frequencyPenalty: 0 }
    await core.step([
      { sequence: one, tokens, sample },
      { sequence: two, tokens: [1], sample },
    ])
    const taken = device.memory.bytes - before
    // Tensors begin at multiples of 64 bytes; each may take so much more.
    expect(taken).toBeLessThanOrEqual(bytes.total + 64 * device.memory.buffers)
    expect(taken).toBeGreaterThan(0.9 * bytes.total)
    await core.close()
  })

  // As ggml stores them: so many bytes for 32 values, which take 64 in f16.
  it.each([
    ['q8_0', 34],
    ['q4_0', 18],
  ] as const)('is less with a cache in %s by what that is less, and kept so', async (cacheType, packed) => {
    const preset = PRESETS[0]!
    const { source } = randomModel({ ...preset, model: { ...preset.model, ...SHAPE } }, 'f16', 3)
    const options = { contextLength: 256, maxBatch: 2 }
    const whole = planModel(source, device, options).size
    const { bytes } = planModel(source, device, { ...options, cacheType }).size
    expect(bytes.cache).toBe((whole.bytes.cache * packed) / 64)
    expect(bytes.total).toBe(whole.bytes.total - whole.bytes.cache + bytes.cache)
    const taken = async (cacheType?: PackedCacheType) => {
      const before = device.memory.bytes
      const core = await loadCore(device, source, { ...options, ...(cacheType && { cacheType }) })
      const bytes = device.memory.bytes - before
      const { fingerprint } = core
      await core.close()
      return { bytes, fingerprint }
    }
    const [full, less] = [await taken(), await taken(cacheType)]
    expect(Math.abs(full.bytes - less.bytes - (whole.bytes.cache - bytes.cache))).toBeLessThan(1024)
    expect(less.fingerprint).not.toBe(full.fingerprint)
  })

  it('has the cache that its own files name, on the CPU, where no other is asked for', () => {
    const { source } = randomModel({ ...PRESETS[0]!, model: { ...PRESETS[0]!.model, ...SHAPE } }, 'f16', 3)
    const typeOf = (own: unknown, on: Device, cacheType?: CacheTypeChoice) => {
      const outline = { ...source, chatConfig: { ...source.chatConfig, cpu_cache_type: own } }
      return planModel(outline, on, cacheType ? { cacheType } : {}).size.cacheType
    }
    const gpu = new Proxy(device, {
      get: (target, name) => (name === 'info' ? { ...target.info, kind: 'webgpu' } : Reflect.get(target, name, target)),
    })
    expect(typeOf('q8_0', device)).toBe('q8_0')
    expect(typeOf('q8_0', gpu)).toBe('f16')
    expect(typeOf('q8_0', device, 'f16')).toBe('f16')
    expect(typeOf('q8_0', device, 'q4_0')).toBe('q4_0')
    expect(typeOf('bits', device)).toBe('f16')
    expect(typeOf(undefined, device)).toBe('f16')
  })

  it('is not told of an 8-bit cache whose blocks do not fit the heads', () => {
    const preset = PRESETS[0]!
    const { source } = randomModel({ ...preset, model: { ...preset.model, ...SHAPE, head_dim: 80 } }, 'f16', 3)
    expect(() => planModel(source, device, { name: 'test/odd', cacheType: 'q8_0' })).toThrow(
      /^test\/odd cannot be run: an 8-bit cache \(cacheType: 'q8_0'\) for heads of 80 values/,
    )
  })

  it('leaves room for one whole context, and for more where there is some', () => {
    expect(defaultCacheTokens(8192, 1, 1e9)).toBe(8192)
    expect(defaultCacheTokens(8192, 8, 1e9)).toBe(8192 + 7 * 512)
    expect(defaultCacheTokens(8192, 8, 9000)).toBe(9000)
    expect(defaultCacheTokens(8192, 8, 100)).toBe(8192)
    expect(defaultCacheTokens(256, 8, 1e9)).toBe(8 * 256)
  })
})
