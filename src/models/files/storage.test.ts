import fs from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { tinyRepository } from '../../engines/webgpu/tiny-repository.test-helper.js'
import { type Hub, hub } from './hub.test-helper.js'
import { openRepository } from './open.js'
import { freeStorage, noteCost, notedCost, storedModels } from './storage.js'
import { keepFile } from './store/origin.js'

const { files } = tinyRepository()
const SHARD = 'params_shard_0.bin'
const bytes = files.get(SHARD)!.length

/** Of the files that were asked for, not all of a repository's are. */
const takenOf = ({ requests }: Hub): number =>
  [...new Set(requests.map(({ file }) => file))].reduce((sum, file) => sum + (files.get(file)?.length ?? 0), 0)

let servers: Hub[]
let cache: string

beforeEach(async () => {
  servers = [await hub(files), await hub(files), await hub(files)]
  cache = await fs.mkdtemp(join(tmpdir(), 'local-v1-storage-'))
})
afterEach(async () => {
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
  vi.useRealTimers()
  for (const server of servers) await server.close()
  await fs.rm(cache, { recursive: true })
})

const open = (url: string, where: { cache?: string; warn?: (message: string) => void } = { cache }) =>
  openRepository({ kind: 'url', url }, { ...where, report: () => {}, signal: new AbortController().signal })

/** One after the other, each at an hour of its own. */
async function openedInTurn(order: readonly number[]): Promise<void> {
  vi.useFakeTimers({ toFake: ['Date'] })
  for (const [hour, i] of order.entries()) {
    vi.setSystemTime(Date.UTC(2026, 0, 1, hour))
    await open(servers[i]!.url)
  }
}

/** A disk on which so much is free. */
const withRoom = (free: number) =>
  vi.spyOn(fs, 'statfs').mockResolvedValue({ bavail: free, bsize: 1 } as Awaited<ReturnType<typeof fs.statfs>>)

describe('downloads on a disk', () => {
  it('are listed by when they were last opened, with their bytes', async () => {
    await openedInTurn([0, 1, 2, 0])
    const models = await storedModels({ cache })
    expect(models.map(({ name }) => name)).toEqual([1, 2, 0].map((i) => servers[i]!.url))
    expect(models[2]!.usedAt).toEqual(new Date(Date.UTC(2026, 0, 1, 3)))
    expect(models.map((model) => model.bytes)).toEqual([1, 2, 0].map((i) => takenOf(servers[i]!)))
  })

  it('keep what a cache in fewer bits costs them, by identity, until they are removed; it counts for nothing', async () => {
    const url = servers[0]!.url
    const place = { kind: 'url', url } as const
    expect(await notedCost(place, cache, 'one')).toBeUndefined()
    await open(url)
    const before = await storedModels({ cache })
    await noteCost(place, cache, 'one', 0.5)
    await noteCost(place, cache, 'two', 0.25)
    expect(await Promise.all(['one', 'two', 'three'].map((identity) => notedCost(place, cache, identity)))).toEqual([
      ...[0.5, 0.25, undefined],
    ])
    expect(await storedModels({ cache })).toEqual(before)
    // Of what lies in a folder of the user's nothing is written.
    const folder = { kind: 'folder', path: cache } as const
    await noteCost(folder, cache, 'one', 0.5)
    expect(await notedCost(folder, cache, 'one')).toBeUndefined()
    await freeStorage(1, { cache })
    expect(await notedCost(place, cache, 'one')).toBeUndefined()
  })

  it('of the hub, from before their use was noted, count by their newest file', async () => {
    const folder = join(cache, 'huggingface.co/owner/name/resolve/main')
    await fs.mkdir(folder, { recursive: true })
    await fs.writeFile(join(folder, 'model.gguf'), 'twelve bytes')
    await fs.utimes(join(folder, 'model.gguf'), 5, 5)
    await openedInTurn([0])
    expect((await storedModels({ cache }))[0]).toEqual({ name: 'owner/name', bytes: 12, usedAt: new Date(5000) })
  })

  it('are removed when it is asked for, the least recently used first, no more than are needed', async () => {
    await openedInTurn([0, 1, 2, 0])
    const [second, third, first] = [1, 2, 0].map((i) => servers[i]!.url)
    expect((await freeStorage(1, { cache, keep: [second!] })).map(({ name }) => name)).toEqual([third])
    const [one] = servers
    expect((await freeStorage(takenOf(one!) + 1, { cache })).map(({ name }) => name)).toEqual([second, first])
    expect(await storedModels({ cache })).toEqual([])
  })

  it('for which there is no room are refused before they begin, with what would make some', async () => {
    await openedInTurn([0, 1])
    const total = takenOf(servers[0]!)
    withRoom(1000)
    const error = await open(servers[2]!.url).catch((error: unknown) => error)
    expect(error).toMatchObject({ status: 507, code: 'storage_full' })
    const message = String(error)
    expect(message).toContain(`Removing ${servers[0]!.url} (`)
    expect(message).not.toContain(`${servers[1]!.url} (`)
    // Asked as it says, there is room.
    const [, lacking] = message.match(/local-v1 models remove --least-used \d+MB, or freeStorage\((\d+)\)/)!
    expect(Number(lacking) + 1000).toBeLessThanOrEqual(total)
    expect(servers[2]!.requests.map(({ file }) => file)).not.toContain(SHARD)
    // Nothing was removed that nobody asked for.
    const here = (await storedModels({ cache })).map(({ name }) => name)
    expect(here).toEqual(expect.arrayContaining([servers[0]!.url, servers[1]!.url]))
    await freeStorage(Number(lacking), { cache })
    withRoom(1000 + total)
    vi.setSystemTime(Date.UTC(2026, 0, 2))
    await open(servers[2]!.url)
    expect((await storedModels({ cache })).map(({ name }) => name)).toEqual([servers[1]!.url, servers[2]!.url])
  })

  it('that are here already need no room', async () => {
    await openedInTurn([0])
    withRoom(0)
    await expect(open(servers[0]!.url)).resolves.toBeDefined()
  })

  it('that fill the disk end with the same error, and go on from there later', async () => {
    const real = fs.open
    vi.spyOn(fs, 'open').mockImplementation(async (...given) => {
      const file = await real(...given)
      if (!String(given[0]).includes(SHARD)) return file
      file.appendFile = async () => {
        throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
      }
      return file
    })
    const opening = open(servers[0]!.url)
    await expect(opening).rejects.toMatchObject({ status: 507, code: 'storage_full' })
    await expect(opening).rejects.toThrow(/No other model was downloaded here/)
    vi.restoreAllMocks()
    await expect(open(servers[0]!.url)).resolves.toBeDefined()
  })
})

/** As much of the Cache API as the store asks for, with a quota for each file. */
function cacheStorage(quota: number) {
  const all = new Map<string, Map<string, Response>>()
  const addressOf = (request: RequestInfo | URL) => (request instanceof Request ? request.url : String(request))
  return {
    has: async (name: string) => all.has(name),
    async open(name: string) {
      const entries = all.get(name) ?? new Map<string, Response>()
      all.set(name, entries)
      return {
        match: async (request: RequestInfo) => entries.get(addressOf(request))?.clone(),
        keys: async () => [...entries.keys()].map((url) => new Request(url)),
        delete: async (request: RequestInfo) => entries.delete(addressOf(request)),
        async put(request: RequestInfo, response: Response) {
          if (Number(response.headers.get('content-length')) > quota) throw new DOMException('', 'QuotaExceededError')
          entries.set(addressOf(request), response)
        },
      }
    },
  }
}

/** Without a file system of its own, as a page. */
function asPage(quota: number, navigator: object = {}) {
  vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined as never)
  vi.stubGlobal('caches', cacheStorage(quota))
  vi.stubGlobal('navigator', navigator)
}

describe('downloads in a page', () => {
  it('are listed and removed like those on a disk', async () => {
    asPage(2 ** 30)
    await (await caches.open('webllm/model')).put(
      'https://huggingface.co/owner/name/resolve/main/params.bin',
      new Response('abc', { headers: { 'content-length': '3' } }),
    )
    await open(servers[0]!.url, {})
    // Another engine's, of which nobody noted the use, comes first.
    expect(await storedModels()).toEqual([
      { name: 'owner/name', bytes: 3 },
      { name: servers[0]!.url, bytes: takenOf(servers[0]!), usedAt: expect.any(Date) },
    ])
    expect((await freeStorage(4)).map(({ name }) => name)).toEqual(['owner/name', servers[0]!.url])
    expect(await storedModels()).toEqual([])
  })

  it('that the quota does not hold are run all the same, and not kept, of which the page hears before', async () => {
    asPage(bytes - 1, { storage: { estimate: async () => ({ quota: 2e6 + bytes, usage: 2e6 + 1 }) } })
    const reported: { message: string; begun: boolean }[] = []
    const warn = (message: string) => {
      reported.push({ message, begun: servers[0]!.requests.some(({ file }) => file === SHARD) })
    }
    const { weights } = await open(servers[0]!.url, { warn })
    // By what the browser says of its room, and by what became of it: some browsers do not tell.
    expect(reported).toEqual([
      { message: expect.stringMatching(/^There is no room for the model at .*It runs, and is down/), begun: false },
      { message: expect.stringContaining(`There was no room to store ${servers[0]!.url}${SHARD}`), begun: true },
    ])
    for (const name of weights.names) await weights.read(name)
    const [kept] = await storedModels()
    expect(kept!.bytes).toBe(takenOf(servers[0]!) - bytes)
  })

  it('are named where a file that is to be kept finds no room', async () => {
    const folder = { values: async function* () {} }
    const root = { getDirectoryHandle: async () => folder }
    const storage = { getDirectory: async () => root, estimate: async () => ({ quota: 1000, usage: 900 }) }
    asPage(2 ** 30, { storage })
    await open(servers[0]!.url, {})
    const { writeMadeUp } = await import('./formats/gguf/made-up.test-helper.js')
    const path = join(cache, 'mine.gguf')
    await writeMadeUp(path, { types: { '*': 'Q4_0' } })
    const file = new File([await fs.readFile(path)], 'mine.gguf')
    const keeping = keepFile(file)
    await expect(keeping).rejects.toMatchObject({ status: 507, code: 'storage_full' })
    await expect(keeping).rejects.toThrow(
      `this site may store 0 MB more. Removing all other models that were downloaded here (${servers[0]!.url}`,
    )
  })
})
