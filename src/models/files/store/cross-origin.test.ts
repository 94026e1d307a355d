import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { ownFolder } from '../../../../test/support/own-folder.js'
import { webgpu } from '../../../engines/webgpu/index.js'
import { writeMadeUp } from '../formats/gguf/made-up.test-helper.js'
import { type Hub, hub } from '../hub.test-helper.js'
import { forget, isWhole, openRepository } from '../open.js'
import { storeFor } from './choose.js'
import { crossOriginStorage, type SharedWith, sharedStore } from './cross-origin.js'
import { SharedFiles } from './cross-origin.test-helper.js'

const PATH = 'org/model/resolve/main/model.gguf'

const folder = ownFolder()
let bytes: Buffer
let sha256: string
let server: Hub
let files: SharedFiles

beforeAll(async () => {
  const path = join(folder, 'model.gguf')
  await writeMadeUp(path, { types: { '*': 'Q8_0' } })
  bytes = await readFile(path)
  sha256 = createHash('sha256').update(bytes).digest('hex')
})
beforeEach(async () => {
  files = new SharedFiles()
  server = await hub(new Map([[PATH, bytes]]))
  naming(sha256)
})
afterEach(async () => {
  vi.unstubAllGlobals()
  await server.close()
})

/** As the hub names a file's hash. */
function naming(hash: string | undefined): void {
  server.intercept = (_file, { method }, response) => {
    if (method !== 'HEAD') return false
    const named = hash === undefined ? {} : { 'x-linked-etag': `"${hash}"`, 'x-linked-size': bytes.length }
    response.writeHead(200, named).end()
    return true
  }
}

let sites = 0

/** A page of a site of its own; `downloads`: how often it asked for the whole file, whose head is read by ranges. */
function site(origin: string, sharedWith: SharedWith = true, own = storeFor(join(folder, `site-${sites++}`))) {
  const cache = sharedStore(own, files.of(origin), sharedWith)
  const place = { kind: 'url', url: server.url + PATH } as const
  const seen = { downloads: 0 }
  const fetch = (url: string, init: RequestInit) => {
    const { range } = (init.headers ?? {}) as { range?: string }
    if (init.method !== 'HEAD' && range === undefined) seen.downloads++
    return globalThis.fetch(url, init)
  }
  async function read(): Promise<Uint8Array> {
    const options = { cache, fetch, report: () => {}, signal: new AbortController().signal }
    const { weights } = await openRepository(place, options)
    return (await weights.read(weights.names[0]!)).data
  }
  return { own, cache, place, read, seen }
}

describe('a file whose SHA-256 is named', () => {
  it('is downloaded by the first site and found by the others', async () => {
    files.publicHashes.add(sha256)
    const first = site('https://one.example')
    const wanted = await first.read()
    expect(first.seen.downloads).toBe(1)
    const second = site('https://two.example')
    expect(await second.read()).toEqual(wanted)
    expect(second.seen.downloads).toBe(0)
    expect(Buffer.from(files.entries.get(sha256)!.bytes).equals(bytes)).toBe(true)
  })

  it('is there once, and without a network the next time', async () => {
    const { own, cache, place, read } = site('https://one.example')
    const wanted = await read()
    expect(await own.read(place.url)).toBeUndefined()
    expect(await isWhole(place, cache)).toBe(true)
    await server.close()
    expect(await read()).toEqual(wanted)
    // A site forgets where it lies; the file itself is the browser's.
    await forget(place, cache)
    expect(await isWhole(place, cache)).toBe(false)
    expect(files.entries.has(sha256)).toBe(true)
    server = await hub(new Map())
  })

  it('is downloaded where other sites may not find it', async () => {
    await site('https://one.example', ['https://two.example']).read()
    const [two, three] = [site('https://two.example'), site('https://three.example')]
    await two.read()
    await three.read()
    expect([two.seen.downloads, three.seen.downloads]).toEqual([0, 1])
  })

  it('is downloaded again where the browser has let go of it', async () => {
    const { read, seen, cache, place } = site('https://one.example')
    const wanted = await read()
    files.entries.clear()
    expect(await isWhole(place, cache)).toBe(false)
    expect(await read()).toEqual(wanted)
    expect(seen.downloads).toBe(2)
  })

  it.each<[string, () => void]>([
    [
      'a policy forbids to share it',
      () => {
        files.forbidden = true
      },
    ],
    [
      'it is more than a site may share',
      () => {
        files.quota = 1000
      },
    ],
  ])('is kept for the site alone where %s', async (_, hinder) => {
    hinder()
    const { own, place, read, seen } = site('https://one.example')
    const wanted = await read()
    expect((await own.read(place.url))?.bytes).toBe(bytes.length)
    expect(await read()).toEqual(wanted)
    expect(seen.downloads).toBe(1)
  })

  it('is not shared where it is not what was named', async () => {
    naming('0'.repeat(64))
    await expect(site('https://one.example').read()).rejects.toThrow('Nothing was stored')
    expect(files.entries.size).toBe(0)
  })
})

it('a file whose hash nobody names is not looked for', async () => {
  naming(undefined)
  const { own, place, read } = site('https://one.example')
  await read()
  expect(files.requestedHashes).toEqual([])
  expect((await own.read(place.url))?.bytes).toBe(bytes.length)
})

describe('`crossOriginStorage`', () => {
  const reported: string[] = []
  const engineWith = (crossOriginStorage?: true) =>
    webgpu({ models: [], ...(crossOriginStorage && { crossOriginStorage }), log: (message) => reported.push(message) })

  it('is off by default, and says so where a browser has none', async () => {
    expect(crossOriginStorage()).toBeUndefined()
    await engineWith().close?.()
    expect(reported).toEqual([])
    await engineWith(true).close?.()
    expect(reported).toEqual(['There is no Cross-Origin Storage here: models are stored only for this site.'])
  })

  it('is taken where a browser has it in the form that is proposed', () => {
    vi.stubGlobal('navigator', { crossOriginStorage: files.of('https://one.example') })
    expect(crossOriginStorage()).toBeDefined()
    // Its older form.
    vi.stubGlobal('navigator', { crossOriginStorage: { requestFileHandles: async () => [] } })
    expect(crossOriginStorage()).toBeUndefined()
  })
})
