import { expect, test } from 'vitest'
import { WebLlmEngine } from './engine.js'
import type { GpuFacts } from './gpu-probe.js'
import type { ModelRecord, WebLlmLibrary } from './library.js'
import type { WebLlmOptions } from './options.js'
import { offer, weightsAddress } from './records.js'
import { chatConfig, files, record, standInLibrary } from './stand-in.test-helper.js'

const GPU: GpuFacts = { features: new Set<string>(), maxStorageBufferBindingSize: 2 ** 27 }
const signal = new AbortController().signal

const records = [
  record('small'),
  record('half', { required_features: ['shader-f16'] }),
  record('wide', { buffer_size_required_bytes: 2 ** 28 }),
  record('huge', { vram_required_MB: 40_000 }),
  record('vectors', { model_type: 1 }),
]

function engineOf(options: WebLlmOptions, gpu: GpuFacts | undefined = GPU, list: ModelRecord[] = records) {
  const { library, seen } = standInLibrary(list)
  let loads = 0
  const engine = new WebLlmEngine(options, {
    loadLibrary: async (): Promise<WebLlmLibrary> => {
      loads++
      return library
    },
    probeGpu: async () => gpu,
    readText: async () => ({ ...files, chatConfig }),
  })
  return { engine, seen, loads: () => loads }
}

test('an 8-bit cache is refused by name, before anything is loaded', () => {
  const packed = { ...record('small'), cacheType: 'q8_0' }
  expect(() => engineOf({ models: [packed] })).toThrow(/webllm: 'cacheType'/)
})

test('the prebuilt list is offered under the ids of its weights, without embedding models', async () => {
  const { engine } = engineOf({})
  await engine.ready
  expect(engine.models.map(({ id }) => id)).toEqual(['test/small', 'test/half', 'test/wide', 'test/huge'])
  expect(engine.models.every(({ ownedBy }) => ownedBy === 'test')).toBe(true)
})

test('a model that cannot run here says why, and is refused before anything is fetched', async () => {
  const { engine, seen } = engineOf({})
  await engine.ready
  const reasons = Object.fromEntries(engine.models.map(({ id, metadata }) => [id, metadata?.unavailable]))
  expect(reasons['test/small']).toBeUndefined()
  expect(reasons['test/half']).toContain('shader-f16')
  expect(reasons['test/wide']).toContain('256 MiB')
  expect(reasons['test/huge']).toContain('8192 MiB')
  await expect(engine.load('test/half', () => {}, signal)).rejects.toMatchObject({
    status: 503,
    code: 'model_unavailable',
  })
  expect(seen.created).toEqual([])
})

test('or is left out, where that is asked for; without WebGPU that is all of them', async () => {
  const some = engineOf({ unavailable: 'hide' }).engine
  await some.ready
  expect(some.models.map(({ id }) => id)).toEqual(['test/small'])
  const { library } = standInLibrary(records)
  const none = new WebLlmEngine(
    { unavailable: 'hide' },
    { loadLibrary: async () => library, probeGpu: async () => undefined, readText: async () => files },
  )
  await none.ready
  expect(none.models).toEqual([])
  await expect(none.load('test/small', () => {}, signal)).rejects.toThrow('There is no WebGPU here.')
})

test('a list of names and own records is there at once, and WebLLM is not loaded for it', async () => {
  const own = record('mine', { model: 'https://models.example/mine' })
  const { engine, loads } = engineOf({ models: ['test/small', own, 'test/unknown'] })
  expect(engine.models.map(({ id }) => id)).toEqual(['test/small', 'local/mine', 'test/unknown'])
  await engine.ready
  expect(loads()).toBe(0)
  await engine.load('local/mine', () => {}, signal)
  expect(loads()).toBe(1)
  // What WebLLM does not know is known now to be no model.
  expect(engine.models.map(({ id }) => id)).toEqual(['test/small', 'local/mine'])
  await expect(engine.load('test/unknown', () => {}, signal)).rejects.toMatchObject({ code: 'model_not_found' })
  await expect(engine.load('test/half', () => {}, signal)).rejects.toMatchObject({ code: 'model_not_found' })
  await engine.close()
})

test('removing unloads a model and deletes what was downloaded for it; a folder is left alone', async () => {
  const forgotten: string[][] = []
  const { library, seen } = standInLibrary(records)
  const own = record('mine', { model: 'file:///models/mine' })
  const engine = new WebLlmEngine(
    { models: ['test/small', own] },
    {
      loadLibrary: async () => library,
      probeGpu: async () => GPU,
      readText: async () => ({ ...files, chatConfig }),
      forget: async (...addresses) => void forgotten.push(addresses),
    },
  )
  await engine.load('test/small', () => {}, signal)
  await engine.remove('test/small')
  expect(seen.live.size).toBe(0)
  expect(forgotten).toEqual([['https://huggingface.co/test/small/resolve/main/', 'https://libs.example/small.wasm']])
  await expect(engine.remove('local/mine')).rejects.toMatchObject({ status: 409, code: 'not_downloaded' })
  await expect(engine.remove('test/unknown')).rejects.toMatchObject({ status: 404 })
  expect(forgotten).toHaveLength(1)
})

test('records that share their weights have ids of their own', () => {
  const short = record('twin-1k', { model: 'https://huggingface.co/test/twin' })
  const ids = offer([short, record('twin'), record('x', { model: 'https://huggingface.co/a/B/resolve/main/' })])
  expect(ids.map(({ id }) => id)).toEqual(['test/twin-1k', 'test/twin', 'a/B'])
})

test('a library that cannot be imported is a 503, and is asked for again', async () => {
  let there = false
  const { library } = standInLibrary(records)
  const logs: string[] = []
  const engine = new WebLlmEngine(
    { log: (line) => logs.push(line) },
    {
      loadLibrary: async () => {
        if (!there) throw new Error('Cannot find package')
        return library
      },
      probeGpu: async () => GPU,
      readText: async () => ({ ...files, chatConfig }),
    },
  )
  await engine.ready
  expect(engine.models).toEqual([])
  expect(logs.join()).toContain('Cannot find package')
  await expect(engine.load('test/small', () => {}, signal)).rejects.toMatchObject({ status: 503 })
  there = true
  await engine.load('test/small', () => {}, signal)
  expect(engine.models[0]!.metadata?.loaded).toBe(true)
  await engine.close()
})

test.each([
  ['https://huggingface.co/a/b', 'https://huggingface.co/a/b/resolve/main/'],
  ['https://huggingface.co/a/b/resolve/v1', 'https://huggingface.co/a/b/resolve/v1/'],
  ['https://models.example/mine/', 'https://models.example/mine/resolve/main/'],
])('the files of %s lie where WebLLM looks for them', (model, address) => {
  expect(weightsAddress(model)).toBe(address)
})
