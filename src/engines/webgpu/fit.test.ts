import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { ownFolder } from '../../../test/support/own-folder.js'
import { openCpuDevice } from '../../device/cpu/index.js'
import { writeMadeUp } from '../../models/files/formats/gguf/made-up.test-helper.js'
import { type Hub, hub } from '../../models/files/hub.test-helper.js'
import { openRepository, surveyRepository } from '../../models/files/open.js'
import { loadCore } from '../../models/load.js'
import { alternatives, sizeWithin } from './alternatives.js'
import { WebGpuEngine } from './engine.js'
import { type Fitter, openFitter } from './fit.js'
import { offeredModel } from './location.js'
import type { Surroundings } from './surroundings.js'

const fetch_ = globalThis.fetch
const EIGHT_BITS = "an 8-bit cache (cacheType: 'q8_0')"
const FOUR_BITS = "a 4-bit cache (cacheType: 'q4_0')"
const folder = ownFolder()
let path: string
let bytes: Buffer
let fitter: Fitter
let server: Hub

beforeAll(async () => {
  path = join(folder, 'model.gguf')
  await writeMadeUp(path, { types: { '*': 'Q8_0' } })
  bytes = await readFile(path)
  server = await hub(new Map([['model.gguf', bytes]]))
  fitter = await openFitter('cpu')
})
afterAll(async () => {
  fitter.close()
  await server.close()
})

describe('whether a model fits', () => {
  it('is told by its head, without a download', async () => {
    const found = await fitter.fit(`${server.url}model.gguf`, { cache: join(folder, 'cache') })
    expect(found).toMatchObject({
      downloadBytes: bytes.length,
      leftBytes: bytes.length,
      contextLength: 512,
      instead: [],
    })
    expect(found.tokensPerSecond).toBeGreaterThan(0)
    expect(server.requests.map(({ range }) => range)).toEqual([`bytes=0-${2 ** 20 - 1}`])
  })

  it('with the memory that it takes once it is loaded', async () => {
    const { memoryBytes, memory, leftBytes } = await fitter.fit(path, { contextLength: 256 })
    const parts = Object.values(memory ?? {})
    expect(parts.reduce((sum, part) => sum + part, 0)).toBe(memoryBytes)
    expect(Math.min(...parts)).toBeGreaterThan(0)
    expect(leftBytes).toBe(0)
    const options = { report: () => {}, signal: new AbortController().signal, cache: false } as const
    const { weights } = await openRepository({ kind: 'folder', path }, options)
    const device = await openCpuDevice({ threads: 1 })
    const core = await loadCore(device, weights, { contextLength: 256, maxBatch: 1 })
    expect(core.contextLength).toBe(256)
    const taken = device.memory.bytes
    await core.close()
    device.destroy()
    // What is only made once it is needed is counted too.
    expect(memoryBytes).toBeGreaterThanOrEqual(taken)
    expect(memoryBytes).toBeLessThan(1.25 * taken)
  })

  it('and of one that does not, what it lacks and what would', async () => {
    const { memoryBytes: whole = 0 } = await fitter.fit(path)
    const { memoryBytes: kept = 0 } = await fitter.fit(path, { cacheType: 'q8_0' })
    const small = await openFitter('cpu', kept - 1)
    const found = await small.fit(path, { contextLength: 4096, cacheType: 'q8_0' })
    expect(found.memoryBytes).toBeUndefined()
    expect(found.lacks).toMatch(/needs \d+ MiB of memory, and \d+ MiB are free/)
    expect(found.instead).toEqual([
      { how: "quantize: 'q4f16_1'", quantize: 'q4f16_1', memoryBytes: expect.any(Number) },
    ])
    expect(found.instead[0]!.memoryBytes).toBeLessThan(whole)
    expect((await small.fit(path, { contextLength: 128 })).memoryBytes).toBeLessThan(whole)
    small.close()
    const none = await openFitter('cpu', 1000)
    expect((await none.fit(path)).instead).toEqual([])
    none.close()
  })

  it('and that a packed cache would, in the words of the option, where heads are of whole blocks', async () => {
    const { memory, memoryBytes: whole = 0 } = await fitter.fit(path)
    // As ggml stores it: 34 bytes for 32 values, which take 64 in f16.
    const memoryBytes = whole - (memory!.cache! * 30) / 64
    expect(await fitter.fit(path, { cacheType: 'q8_0' })).toMatchObject({ memoryBytes, instead: [] })
    const small = await openFitter('cpu', whole - 1)
    expect((await small.fit(path)).instead).toEqual([{ how: EIGHT_BITS, cacheType: 'q8_0', memoryBytes }])
    small.close()
    // And where that is too much, one in 4 bits: 18 bytes.
    const smaller = await openFitter('cpu', memoryBytes - 1)
    const inFour = whole - (memory!.cache! * 46) / 64
    expect((await smaller.fit(path)).instead).toEqual([{ how: FOUR_BITS, cacheType: 'q4_0', memoryBytes: inFour }])
    smaller.close()
    const odd = join(folder, 'odd-heads.gguf')
    await writeMadeUp(odd, { types: { '*': 'Q8_0' }, heads: 16 })
    const { memoryBytes: all = 0 } = await fitter.fit(odd)
    const less = await openFitter('cpu', all - 1)
    expect((await less.fit(odd, { contextLength: 512 })).instead[0]!.how).not.toContain('8-bit')
    await expect(less.fit(odd, { cacheType: 'q8_0' })).rejects.toThrow('heads of 16 values')
    less.close()
  })

  it('and nothing of one whose heads no memory makes room for', async () => {
    const options = { signal: new AbortController().signal, cache: false } as const
    const { outline } = await surveyRepository({ kind: 'folder', path }, options)
    const device = await openCpuDevice({ threads: 1 })
    Object.defineProperty(device, 'limits', { value: { ...device.limits, headSize: 32 } })
    const free = Number.POSITIVE_INFINITY
    const model = offeredModel(path)
    expect(sizeWithin(device, outline, free)(model)).toMatch(/heads of 64 values/)
    const siblings = new Map([['Q2_K', 1000]])
    expect(alternatives(model, { device, outline, free, siblings, bytes: bytes.length })).toEqual([])
    device.destroy()
  })

  it('and of one at the hub, which smaller quantisation of the same repository would', async () => {
    const named = (label: string) => `made-up.${label}.gguf`
    const sizes = { Q8_0: bytes.length, Q6_K: bytes.length - 60_000, Q4_K_M: bytes.length - 120_000, Q2_K: 1000 }
    const tree = Object.entries(sizes).map(([label, size]) => ({ path: named(label), size }))
    const listed = [{ path: 'README.md', size: 5 }, ...tree, { path: 'mmproj-Q6_K.gguf', size: bytes.length - 70_000 }]
    vi.stubGlobal('fetch', async (input: RequestInfo | URL, init?: RequestInit) => {
      const { pathname } = new URL(String(input))
      if (pathname.startsWith('/api/')) return Response.json(listed)
      return pathname === `/org/made-up-GGUF/resolve/main/${named('Q8_0')}`
        ? fetch_(`${server.url}model.gguf`, init)
        : new Response('', { status: 404 })
    })
    const { memoryBytes: whole = 0 } = await fitter.fit(path)
    const small = await openFitter('cpu', whole - 100_000)
    const found = await small.fit('hf:org/made-up-GGUF:Q8_0', { cache: false })
    expect(found.instead[0]).toEqual({
      how: 'hf:org/made-up-GGUF:Q4_K_M',
      model: 'hf:org/made-up-GGUF:Q4_K_M',
      memoryBytes: whole - 120_000,
    })
    small.close()
    const close = await openFitter('cpu', whole - 1)
    expect((await close.fit('hf:org/made-up-GGUF:Q8_0', { cache: false })).instead[0]!.model).toContain(':Q6_K')
    close.close()
    vi.unstubAllGlobals()
  })

  it('is said by the refusal of a load and by the list of models as well', async () => {
    const id = 'hf:org/made-up-GGUF:Q8_0'
    const { memory } = await fitter.fit(path)
    const surroundings: Surroundings = {
      async openDevice() {
        const device = await openCpuDevice({ threads: 1 })
        return Object.defineProperty(device, 'limits', { value: { ...device.limits, totalBytes: memory!.weights } })
      },
      openRepository: (_, report, signal, check) =>
        openRepository({ kind: 'folder', path }, { report, signal, check, cache: false }),
      siblings: async () =>
        new Map([
          ['Q8_0', bytes.length],
          ['Q2_K', 1000],
        ]),
    }
    const engine = new WebGpuEngine(
      { models: [{ id: 'org/model', from: id }], maxBatch: 1, log: () => {} },
      surroundings,
    )
    const advice = 'What would fit: hf:org/made-up-GGUF:Q2_K, which takes'
    const loading = engine.load('org/model', () => {}, new AbortController().signal)
    await expect(loading).rejects.toMatchObject({ status: 503, code: 'device_too_small' })
    await expect(loading).rejects.toThrow(advice)
    expect(engine.models[0]!.metadata!.does_not_fit).toContain(advice)
    await engine.close()
  })

  it('is not asked of what can never be read', async () => {
    const odd = join(folder, 'odd.gguf')
    await writeMadeUp(odd, { types: {}, metadata: (out) => out.text('general.architecture', 'mamba') })
    await expect(fitter.fit(odd)).rejects.toThrow('"mamba"')
  })
})
