import { fileURLToPath } from 'node:url'
import { afterEach, expect, test } from 'vitest'
import type { Device } from '../../device/contract.js'
import { openCpuDevice } from '../../device/cpu/index.js'
import { call, collect } from '../../generate/testing/call.test-helper.js'
import { smallTokenizer } from '../../generate/testing/small-tokenizer.test-helper.js'
import { PRESETS, randomModel } from '../../models/random-model.test-helper.js'
import { WebGpuEngine } from './engine.js'
import { webgpu } from './index.js'
import type { ModelOptions } from './options.js'
import type { Surroundings } from './surroundings.js'
import { tinyRepository } from './tiny-repository.test-helper.js'

const files = smallTokenizer()
const vocab_size = Object.keys(files.tokenizer.model.vocab).length + files.tokenizer.added_tokens.length
const presetOf = (name: string, headSize: number) => {
  const preset = PRESETS.find((each) => each.name === name)!
  return { ...preset, model: { ...preset.model, vocab_size, head_dim: headSize } }
}
const signal = new AbortController().signal
const engines: WebGpuEngine[] = []
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close()
})

interface Around extends Pick<Surroundings, 'notedCost' | 'noteCost'> {
  readonly preset?: ReturnType<typeof presetOf>
  readonly wide?: boolean
  /** A file of the user's. */
  readonly from?: string
  readonly threads?: number
  /** Of packed caches as they are made. */
  onCache?(pages: number): void
}

const CALM = presetOf('Qwen2', 32)

function engineOf(
  cacheType: ModelOptions['cacheType'],
  { preset = CALM, wide, from, threads = 1, onCache, ...around }: Around = {},
) {
  const { source } = wide ? tinyRepository() : randomModel(preset, 'q4f16', 5)
  const devices: Device[] = []
  const engine = new WebGpuEngine(
    { models: [{ id: 'test/one', ...(from && { from }), ...(cacheType && { cacheType }) }], log: () => {} },
    {
      async openDevice() {
        const device = await openCpuDevice({ threads })
        devices.push(device)
        const { cache } = device
        device.cache = (shape) => {
          if (shape.type === 'q8_0') onCache?.(shape.pages)
          return cache.call(device, shape)
        }
        return device
      },
      openRepository: async () => ({ weights: source, text: files }),
      ...around,
    },
  )
  engines.push(engine)
  const load = async () => {
    await engine.load('test/one', () => {}, signal)
    return engine.models[0]!.metadata!
  }
  return { engine, load, devices }
}
const notes = () => {
  const noted = new Map<string, number>()
  return {
    noted,
    notedCost: async (_: unknown, identity: string) => noted.get(identity),
    noteCost: async (_: unknown, identity: string, cost: number) => void noted.set(identity, cost),
  }
}
const answer = async (engine: WebGpuEngine) =>
  (await collect(engine.generate(call({ model: 'test/one', maxTokens: 12 })))).texts

test('a model whose distributions stay where they are has 8 bits, as if they had been asked for', async () => {
  const around = notes()
  const [auto, explicit] = [engineOf('auto', around), engineOf('q8_0')]
  const [chosen, expected] = [await auto.load(), await explicit.load()]
  expect(chosen).toMatchObject({
    cache_type: 'q8_0',
    cache_type_reason: expect.stringMatching(/^8 bits cost .* less than/),
  })
  expect(expected.cache_type).toBe('q8_0')
  expect(expected.cache_type_reason).toBeUndefined()
  expect(chosen.cache_bytes).toBe(expected.cache_bytes)
  expect(await answer(auto.engine)).toEqual(await answer(explicit.engine))
  expect(auto.engine.models[0]!.fingerprint).toBe(explicit.engine.models[0]!.fingerprint)
  expect([...around.noted.values()]).toEqual([expect.any(Number)])
})

test('one whose distributions move has f16, as if that had been asked for', async () => {
  const [auto, plain] = [engineOf('auto', { notedCost: async () => 0.0025 }), engineOf('f16')]
  const [chosen, expected] = [await auto.load(), await plain.load()]
  expect(chosen).toMatchObject({ cache_type: 'f16', cache_type_reason: expect.stringContaining('not less than') })
  expect(chosen.cache_bytes).toBe(expected.cache_bytes)
  expect(await answer(auto.engine)).toEqual(await answer(plain.engine))
  expect(auto.engine.models[0]!.fingerprint).toBe(plain.engine.models[0]!.fingerprint)
})

test('a download that says nothing is asked where it can be, and has f16 elsewhere', async () => {
  const reason = expect.stringMatching(/^8 bits cost/)
  expect(await engineOf(undefined).load()).toMatchObject({ cache_type: 'q8_0', cache_type_reason: reason })
  for (const [around, type] of [
    [{ preset: presetOf('Llama 3.2', 16) }, 'f16'],
    [{ wide: true }, 'f32'],
    // Its answer would be kept nowhere.
    [{ from: './mine.gguf' }, 'f16'],
  ] as const) {
    const metadata = await engineOf(undefined, around).load()
    expect([metadata.cache_type, metadata.cache_type_reason]).toEqual([type, undefined])
  }
})

test('it is the same with every number of threads, and paid for once', async () => {
  const [one, two] = [notes(), notes()]
  await engineOf('auto', one).load()
  const several = engineOf('auto', { ...two, threads: 2 })
  await several.load()
  expect(two.noted).toEqual(one.noted)
  // Neither this engine nor one that is started later, over the same notes, reads the text again.
  two.noted.clear()
  await several.engine.unload('test/one')
  expect(await several.load()).toMatchObject({ cache_type: 'q8_0' })
  const pages: number[] = []
  expect(await engineOf('auto', { ...one, onCache: (count) => pages.push(count) }).load()).toMatchObject({
    cache_type: 'q8_0',
  })
  expect(pages).toHaveLength(1)
  expect(two.noted.size).toBe(0)
})

test('other weights are asked anew', async () => {
  const around = notes()
  await engineOf('auto', around).load()
  await engineOf('auto', { ...around, preset: presetOf('Llama with YaRN', 32) }).load()
  expect(around.noted.size).toBe(2)
})

test('layers with a window are asked, too', async () => {
  const sliding = presetOf('Mistral', 32)
  expect(await engineOf('auto', { preset: sliding }).load()).toMatchObject({
    cache_type: expect.stringMatching(/f16|q8_0/),
  })
})

test('a trial that fails leaves f16 and nothing else', async () => {
  const around = notes()
  const onCache = () => {
    throw new Error('no such kernel')
  }
  const [auto, plain] = [engineOf('auto', { ...around, onCache }), engineOf('f16')]
  expect(await auto.load()).toMatchObject({
    cache_type: 'f16',
    cache_type_reason: '8 bits could not be tried: no such kernel',
  })
  await plain.load()
  expect(around.noted.size).toBe(0)
  expect(await answer(auto.engine)).toEqual(await answer(plain.engine))
  expect(auto.devices[0]!.memory.bytes).toBe(plain.devices[0]!.memory.bytes)
})

test('who stops loading during the trial has stopped it', async () => {
  const around = notes()
  const stop = new AbortController()
  const { engine, load } = engineOf('auto', { ...around, onCache: () => stop.abort() })
  await expect(engine.load('test/one', () => {}, stop.signal)).rejects.toThrow()
  expect(engine.models[0]!.metadata!.loaded).toBe(false)
  expect(around.noted.size).toBe(0)
  expect(await load()).toMatchObject({ loaded: true })
})

test('what cannot be asked is refused by name, before its weights are read', async () => {
  await expect(engineOf('auto', { wide: true }).load()).rejects.toThrow(
    "test/one cannot be run: a cache by choice (cacheType: 'auto') beside weights in f32 is not supported. Leave cacheType away.",
  )
  await expect(engineOf('auto', { preset: presetOf('Llama 3.2', 16) }).load()).rejects.toThrow('heads of 16 values')
  expect(() => engineOf('bits' as 'auto')).toThrow("can be one of 'f16', 'q8_0', 'q4_0', 'auto'")
})

test('local-v1/nano has 8 bits', async () => {
  const from = fileURLToPath(new URL('../../../models/nano', import.meta.url))
  const engine = webgpu({
    ...{ models: [{ id: 'local-v1/nano', from, cacheType: 'auto' }], device: 'cpu', worker: false, log: () => {} },
  })
  await engine.load!('local-v1/nano', () => {}, signal)
  expect(engine.models[0]!.metadata).toMatchObject({ cache_type: 'q8_0' })
  await engine.close!()
})
