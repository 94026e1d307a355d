import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { LoadProgress } from '../../contract/engine.js'
import type { Device, MatrixData } from '../../device/contract.js'
import { openCpuDevice } from '../../device/cpu/index.js'
import { ChatText } from '../../generate/chat-text.js'
import { call, collect } from '../../generate/testing/call.test-helper.js'
import { smallTokenizer } from '../../generate/testing/small-tokenizer.test-helper.js'
import { compile } from '../../grammar/structured.js'
import { locationOf } from '../../models/files/location.js'
import { WebGpuEngine } from './engine.js'
import { webgpu } from './index.js'
import { offeredModel } from './location.js'
import type { WebGpuOptions } from './options.js'
import type { Surroundings } from './surroundings.js'
import { tinyRepository } from './tiny-repository.test-helper.js'

/** Collects garbage, now. */
function gc(): () => void {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc') as () => void
}

const signal = new AbortController().signal

/** An engine over repositories in memory, and what it did with them. */
function setUp(
  options: Partial<WebGpuOptions> = {},
  wrap: (device: Device) => Device = (device) => device,
  holdDevices = true,
) {
  const opened: string[] = []
  const devices: Device[] = []
  const logs: string[] = []
  const kept = new Map<string, number>()
  const surroundings: Surroundings = {
    async openDevice() {
      const device = wrap(await openCpuDevice({ threads: 1, reason: 'A test.' }))
      if (holdDevices) devices.push(device)
      return device
    },
    async openRepository({ location }, report) {
      const name = location.kind === 'hub' ? location.repository : ''
      opened.push(name)
      if (name.endsWith('missing')) throw new Error('404')
      report({ phase: 'download', bytesLoaded: 1, bytesTotal: 1, filesLoaded: 1, filesTotal: 1 })
      kept.set(name, 100)
      return { weights: tinyRepository(name.length).source, text: smallTokenizer() }
    },
    keptOf: async ({ id }) => ({ bytes: kept.get(id) ?? 0, whole: kept.has(id) }),
    async forget({ id }) {
      kept.delete(id)
    },
  }
  const models = ['test/one', 'test/three', 'test/missing']
  const engine = new WebGpuEngine({ models, log: (line) => logs.push(line), ...options }, surroundings)
  return { engine, opened, devices, logs }
}
const ask = (engine: WebGpuEngine, model: string, part = {}) =>
  collect(engine.generate(call({ model, maxTokens: 12, ...part })))

test('who hears that a model is ready finds it kept, too', async () => {
  const { engine } = setUp()
  await engine.survey()
  const seen: unknown[] = []
  const looks: Promise<void>[] = []
  const hear = ({ phase }: { readonly phase: string }) => {
    if (phase !== 'ready') return
    seen.push(engine.models[0]!.metadata!.kept)
    looks.push(engine.survey().then(() => void seen.push(engine.models[0]!.metadata!.kept)))
  }
  await engine.load('test/one', hear, new AbortController().signal)
  await Promise.all(looks)
  expect(seen).toEqual([undefined, true])
})

test('models are loaded when they are first asked for, once', async () => {
  const { engine, opened, logs } = setUp()
  expect(engine.models.map((model) => model.metadata?.loaded)).toEqual([false, false, false])
  const [first, second] = await Promise.all([ask(engine, 'test/one'), ask(engine, 'test/one')])
  expect(first.texts).toEqual(second.texts)
  expect(opened).toEqual(['test/one'])
  expect(engine.models[0]).toMatchObject({
    ownedBy: 'test',
    contextLength: 512,
    fingerprint: expect.stringMatching(/^fp_/),
    metadata: { loaded: true, device: 'cpu', device_reason: 'A test.' },
  })
  expect(logs).toHaveLength(1)
  expect(logs[0]).toContain('A test.')
  await engine.close()
})

test('a device opens while the model is asked for: one that none needs is closed, one that is missing is told', async () => {
  let fetch = () => {}
  const fetched = new Promise<void>((resolve) => {
    fetch = resolve
  })
  const device = await openCpuDevice({ threads: 1 })
  const closed = vi.spyOn(device, 'destroy')
  const engineOf = (surroundings: Surroundings) =>
    new WebGpuEngine({ models: ['test/one'], log: () => {} }, surroundings)
  const broken = engineOf({
    // Who first waited for the device would wait for ever.
    openDevice: () => fetched.then(() => device),
    async openRepository() {
      fetch()
      throw new Error('404')
    },
  })
  await expect(broken.load('test/one', () => {}, signal)).rejects.toThrow('404')
  expect(closed).toHaveBeenCalledOnce()
  const without = engineOf({
    openDevice: () => Promise.reject(new Error('There is no device.')),
    openRepository: () => new Promise(() => {}),
  })
  await expect(without.load('test/one', () => {}, signal)).rejects.toThrow('There is no device.')
})

test('models say how much they need, and how much of it is stored', async () => {
  const models = [{ id: 'test/one', downloadBytes: 500, memoryBytes: 600 }]
  const { engine } = setUp({ models })
  expect(engine.models[0]!.metadata).toEqual({ loaded: false, download_bytes: 500, memory_bytes: 600 })
  await engine.survey()
  expect(engine.models[0]!.metadata).toMatchObject({ kept: false, kept_bytes: 0 })
  await engine.load('test/one', () => {}, signal)
  const { memory_bytes: memory, ...rest } = engine.models[0]!.metadata!
  expect(rest).toMatchObject({ loaded: true, kept: true, kept_bytes: 100, cache_used_bytes: 0 })
  await ask(engine, 'test/one')
  // Of a short chat no more than its pages.
  const { cache_used_bytes: used, cache_bytes: whole } = engine.models[0]!.metadata as Record<string, number>
  expect(used).toBeGreaterThan(0)
  expect(used).toBeLessThan(whole! / 20)
  expect([600, undefined]).not.toContain(memory)
  await engine.remove('test/one')
  expect(engine.models[0]!.metadata).toMatchObject({ loaded: false, kept_bytes: 0, memory_bytes: 600 })
  await engine.close()
})

test('what is told of a model is made anew only when that changes', async () => {
  const { engine } = setUp()
  const [first] = engine.models
  expect(engine.models[0]).toBe(first)
  await engine.load('test/one', () => {}, signal)
  const [loaded] = engine.models
  expect(loaded).toMatchObject({ fingerprint: expect.any(String), metadata: { loaded: true } })
  expect(engine.models[0]).toBe(loaded)
  await engine.unload('test/one')
  expect(engine.models[0]).not.toHaveProperty('fingerprint')
  expect(engine.models[0]!.metadata).toMatchObject({ loaded: false })
  await engine.close()
})

test('a model that does not fit says so until it does', async () => {
  let small = true
  const { engine } = setUp({}, (device) => {
    const { limits } = device
    return Object.defineProperty(device, 'limits', {
      get: () => (small ? { ...limits, tensorBytes: 64 } : limits),
    })
  })
  await expect(engine.load('test/one', () => {}, signal)).rejects.toMatchObject({ code: 'device_too_small' })
  expect(engine.models[0]!.metadata!.does_not_fit).toMatch(
    /it needs .* Only a smaller model or quantisation would fit\./,
  )
  small = false
  await engine.load('test/one', () => {}, signal)
  expect(engine.models[0]!.metadata).not.toHaveProperty('does_not_fit')
  await engine.close()
})

test('what lies in a folder is not deleted', async () => {
  const { engine } = setUp({ models: ['./models/nano'] })
  await expect(engine.remove('local/nano')).rejects.toMatchObject({ status: 409, code: 'not_downloaded' })
  await engine.close()
})

test('load reports its phases, and a failed load fails its callers only', async () => {
  const { engine } = setUp()
  const phases: LoadProgress[] = []
  await engine.load('test/three', (progress) => phases.push(progress), signal)
  expect([...new Set(phases.map(({ phase }) => phase))]).toEqual(['download', 'upload', 'ready'])
  expect(phases.every(({ model }) => model === 'test/three')).toBe(true)
  await expect(ask(engine, 'test/missing')).rejects.toThrow('404')
  await expect(ask(engine, 'test/unknown')).rejects.toMatchObject({ status: 404, code: 'model_not_found' })
  expect((await ask(engine, 'test/three')).reasons).not.toEqual([''])
  await engine.close()
})

test('within the budget the one idle longest is unloaded, and all memory comes back', async () => {
  const { engine, devices, opened } = setUp({ memoryBudget: 1 })
  const one = await ask(engine, 'test/one')
  await ask(engine, 'test/three')
  expect(engine.models.map((model) => model.metadata?.loaded)).toEqual([false, true, false])
  expect((await ask(engine, 'test/one')).texts).toEqual(one.texts)
  expect(opened).toEqual(['test/one', 'test/three', 'test/one'])
  await engine.unload('test/one')
  expect(devices[0]!.memory).toEqual({ bytes: 0, buffers: 0 })
  await engine.close()
})

test('a model waits for the answers of the one that must make room', async () => {
  const { engine } = setUp({ memoryBudget: 1 })
  const parts = engine.generate(call({ model: 'test/one', maxTokens: 40 }))
  await parts.next()
  const other = ask(engine, 'test/three')
  const rest = await collect(parts)
  expect(rest.reasons[0]).not.toBe('')
  expect((await other).reasons[0]).not.toBe('')
  await engine.close()
})

test('a load that everybody has left is stopped, and the next one succeeds', async () => {
  const { engine } = setUp()
  const controller = new AbortController()
  const loading = engine.load('test/one', () => controller.abort(new Error('left')), controller.signal)
  await expect(loading).rejects.toThrow('left')
  expect((await ask(engine, 'test/one')).usage.completionTokens).toBeGreaterThan(0)
  await engine.close()
})

test('a lost device fails what runs, and the next request finds a new one', async () => {
  let lose: (error: Error) => void = () => {}
  const { engine, devices } = setUp({}, (device) => {
    const lost = new Promise<Error>((resolve) => {
      lose = resolve
    })
    return Object.defineProperty(device, 'lost', { value: lost })
  })
  const parts = engine.generate(call({ model: 'test/one', maxTokens: 400 }))
  await parts.next()
  lose(new Error('The device was lost.'))
  await expect(collect(parts)).rejects.toThrow('The device was lost.')
  expect((await ask(engine, 'test/one')).reasons).not.toEqual([''])
  expect(devices).toHaveLength(2)
  await engine.close()
})

test('the same seed gives the same answer alone, beside others, from the cache and with little memory', async () => {
  const calls = Array.from({ length: 10 }, (_, i) => ({
    messages: [{ role: 'user' as const, content: `${'word fox '.repeat((i % 4) * 15)} question ${i}` }],
    maxTokens: 30,
    sampling: { ...call().sampling, seed: i, temperature: i % 2 },
  }))
  const alone: string[] = []
  for (const one of calls) {
    const { engine } = setUp()
    alone.push((await ask(engine, 'test/one', one)).texts[0]!)
    await engine.close()
  }
  const { engine } = setUp({ models: [{ id: 'test/one', cacheTokens: 512 }] })
  for (let round = 0; round < 2; round++) {
    const together = await Promise.all(calls.map((one) => ask(engine, 'test/one', one)))
    expect(together.map((answer) => answer.texts[0])).toEqual(alone)
  }
  await engine.close()
})

test('a CPU device goes with its model, and its memory with it', async () => {
  const collect = gc()
  const made: WeakRef<object>[] = []
  const { Memory } = WebAssembly
  // A mock would keep what it has made.
  WebAssembly.Memory = new Proxy(Memory, {
    construct(target, [descriptor]) {
      const memory = new target(descriptor)
      made.push(new WeakRef(memory))
      return memory
    },
  })
  onTestFinished(() => {
    WebAssembly.Memory = Memory
  })
  // Without the list of devices that other tests look at: it would hold them.
  const { engine } = setUp({}, (device) => device, false)
  await ask(engine, 'test/one')
  await ask(engine, 'test/three')
  expect(made).toHaveLength(2)
  await engine.unload('test/one')
  await vi.waitFor(() => {
    collect()
    expect(made.map((memory) => memory.deref() !== undefined)).toEqual([false, true])
  }, 10_000)
  expect((await ask(engine, 'test/three')).reasons).not.toEqual([''])
  await engine.close()
})

test('a model that computes no numbers says so to who asked, and goes on for others', async () => {
  const odd = '\u00e9'
  const { tokenizer } = smallTokenizer()
  const ids = new ChatText(smallTokenizer()).tokenizer.encode(odd)
  const { source } = tinyRepository(8)
  const spoil = (data: MatrixData): MatrixData => {
    if (data.format !== 'f32' || data.columns !== 64) return data
    const count = Object.keys(tokenizer.model.vocab).length + tokenizer.added_tokens.length
    if (data.rows !== count || spoilt) return data
    spoilt = true
    const values = data.data.slice()
    for (const id of ids) new Float32Array(values.buffer).fill(Number.NaN, id * 64, (id + 1) * 64)
    return { ...data, data: values }
  }
  let spoilt = false
  const { engine } = setUp({}, (device) => ({ ...device, matrix: (data) => device.matrix(spoil(data)) }))
  expect(source.names).toContain('lm_head.weight')
  const message = (content: string) => ({ messages: [{ role: 'user' as const, content }] })
  const [bad, good] = await Promise.allSettled([
    ask(engine, 'test/one', message(`caf${odd}`)),
    ask(engine, 'test/one', message('fox')),
  ])
  expect(bad).toMatchObject({ status: 'rejected', reason: { status: 500, code: 'model_output_invalid' } })
  expect(good).toMatchObject({ status: 'fulfilled' })
  // Its prompt is in no cache, from which another answer would go on.
  await expect(ask(engine, 'test/one', message(`caf${odd} again`))).rejects.toMatchObject({
    code: 'model_output_invalid',
  })
  expect((await ask(engine, 'test/one', message('fox'))).texts).toEqual(
    good.status === 'fulfilled' ? good.value.texts : [],
  )
  await engine.close()
})

test('documents satisfy their schema with random weights', async () => {
  const { engine } = setUp()
  const schema = {
    type: 'object',
    properties: {
      name: { type: 'string', maxLength: 12 },
      tags: { type: 'array', items: { enum: ['a', 'b'] }, maxItems: 4 },
    },
    required: ['name', 'tags'],
    additionalProperties: false,
  }
  const grammar = compile(schema)
  const output = { type: 'json_schema' as const, name: 'x', strict: true, schema }
  for (let seed = 0; seed < 10; seed++) {
    const sampling = { ...call().sampling, seed }
    const answer = await ask(engine, 'test/one', { grammar, output, sampling, maxTokens: 15 + seed * 3 })
    expect(grammar.accepts(answer.texts[0]!)).toBe(true)
    expect(answer.reasons).toEqual(['stop'])
  }
  await engine.close()
})

describe('models by what users write', () => {
  test.each([
    ['mlc-ai/Qwen3-0.6B-q4f16_1-MLC', 'mlc-ai/Qwen3-0.6B-q4f16_1-MLC', 'hub'],
    ['https://models.example/team/small/', 'team/small', 'url'],
    ['https://huggingface.co/mlc-ai/small/resolve/main/', 'mlc-ai/small', 'url'],
    ['./models/nano', 'local/nano', 'folder'],
    ['/srv/my model', 'local/my-model', 'folder'],
    ['file:///srv/models/nano/', 'local/nano', 'folder'],
    ['C:\\models\\nano', 'local/nano', 'folder'],
  ])('%s', (from, id, kind) => {
    expect(offeredModel(from)).toMatchObject({ id, location: { kind } })
  })

  test('anything else is refused', () => {
    expect(() => locationOf('qwen')).toThrow('is no model')
    expect(() => offeredModel({ id: 'qwen', from: './x' })).toThrow('<namespace>/<name>')
    expect(() => new WebGpuEngine({} as never, {} as never)).toThrow("'models' must be a list")
    // Before a worker is started for it.
    for (const worker of [true, false]) {
      expect(() => webgpu({ models: [], worker, drafts: 'some' as never })).toThrow(/'drafts' can be .*"some"/)
      expect(() => webgpu({ models: [], worker, revectorize: 1 as never })).toThrow(
        /webgpu: 'revectorize' can be .*"1"/,
      )
    }
  })
})

test('models come and go while it runs, and what is loaded of them goes with them', async () => {
  const { engine, devices } = setUp()
  const ids = () => engine.models.map(({ id }) => id)
  expect(engine.offer('hf:test/seven').id).toBe('test/seven')
  // The same once more changes nothing, whatever else is said of it.
  engine.offer({ id: 'test/seven', from: './elsewhere' })
  expect(ids()).toEqual(['test/one', 'test/three', 'test/missing', 'test/seven'])
  expect(() => engine.offer('C:nothing')).toThrow(TypeError)
  await ask(engine, 'test/seven')
  expect(devices[0]!.memory.bytes).toBeGreaterThan(0)
  await engine.withdraw('test/seven')
  expect(ids()).toEqual(['test/one', 'test/three', 'test/missing'])
  expect(devices[0]!.memory.bytes).toBe(0)
  await expect(ask(engine, 'test/seven')).rejects.toMatchObject({ code: 'model_not_found' })
  await expect(engine.withdraw('test/seven')).rejects.toMatchObject({ code: 'model_not_found' })
  await engine.close()
})
