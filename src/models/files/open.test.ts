import { createHash } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { V1Error } from '../../contract/errors.js'
import { tinyRepository, writeRepository } from '../../engines/webgpu/tiny-repository.test-helper.js'
import { resolveUrl } from './address.js'
import { writeMadeUp } from './formats/gguf/made-up.test-helper.js'
import { type Hub, hub, send } from './hub.test-helper.js'
import { forget, isWhole, keptOf, type OpenOptions, openOnDisk, openRepository } from './open.js'
import { RemoteFiles } from './remote.js'
import type { WeightOutline, WeightSource } from './source.js'
import { storeFor } from './store/choose.js'
import { APART } from './store/disk.js'
import { noStore } from './store/memory.js'
import { type FileStore, type FileWriter, USED } from './store/store.js'

const repository = tinyRepository()
const SHARD = 'params_shard_0.bin'
const shard = repository.files.get(SHARD)!

/** The same repository, with the hash of its shard as newer ones give it, or as nano does. */
function withHash(kind: 'md5' | 'sha256' = 'md5'): Map<string, Uint8Array> {
  const manifest = JSON.parse(new TextDecoder().decode(repository.files.get('tensor-cache.json')))
  const key = kind === 'md5' ? 'md5sum' : kind
  manifest.records[0][key] = createHash(kind).update(shard).digest('hex')
  return new Map(repository.files).set('tensor-cache.json', new TextEncoder().encode(JSON.stringify(manifest)))
}

async function allTensors(weights: WeightSource): Promise<Map<string, Uint8Array>> {
  const read = new Map<string, Uint8Array>()
  for (const name of weights.names) read.set(name, (await weights.read(name)).data)
  return read
}

async function expectWhole(weights: WeightSource): Promise<void> {
  const read = await allTensors(weights)
  for (const name of repository.source.names) {
    expect(Buffer.compare(read.get(name)!, (await repository.source.read(name)).data), name).toBe(0)
  }
}

let server: Hub
let cache: string

beforeEach(async () => {
  server = await hub(withHash())
  cache = await mkdtemp(join(tmpdir(), 'local-v1-weights-'))
})
afterEach(async () => {
  await server.close()
  await rm(cache, { recursive: true })
})

const open = (options: Partial<OpenOptions> = {}) =>
  openRepository(
    { kind: 'url', url: server.url },
    { cache, report: () => {}, signal: new AbortController().signal, ...options },
  )

/** What is kept, by the names of the files. */
async function kept(): Promise<string[]> {
  const entries = await readdir(cache, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile() && ![USED, APART].includes(entry.name)).map(({ name }) => name)
}

async function refusal(promise: Promise<unknown>): Promise<V1Error> {
  const error = await promise.then(
    () => expect.fail('it was not refused'),
    (reason: unknown) => reason,
  )
  if (!V1Error.is(error)) throw error
  return error
}

it('asks for the files that describe a model side by side', async () => {
  const waiting: (() => void)[] = []
  // Neither is answered before both were asked for.
  server.intercept = (file, request, response) => {
    if (file !== 'tokenizer.json' && file !== 'tensor-cache.json') return false
    waiting.push(() => send(withHash().get(file)!, request, response))
    if (waiting.length === 2) for (const answer of waiting) answer()
    return true
  }
  await expectWhole((await open()).weights)
})

describe('a repository at an address', () => {
  it('can be refused for what its weights are before any of them is downloaded', async () => {
    const check = ({ names, describe }: WeightOutline) => {
      throw new V1Error(503, `${describe(names[0]!).name} is too large.`)
    }
    expect((await refusal(open({ check }))).message).toMatch(/ is too large\.$/)
    expect(server.requests.filter(({ file }) => file.startsWith('params_shard'))).toEqual([])
  })

  it('is read whole, and from the cache the next time', async () => {
    const { weights, text } = await open()
    await expectWhole(weights)
    expect(text.tokenizer).toHaveProperty('model')
    const before = server.requests.filter(({ file }) => repository.files.has(file)).length
    await expectWhole((await open()).weights)
    expect(server.requests.filter(({ file }) => repository.files.has(file))).toHaveLength(before)
  })

  it('is read without a network once it is in the cache', async () => {
    await open()
    const offline = () => Promise.reject(new TypeError('offline'))
    await expectWhole((await open({ fetch: offline })).weights)
  })

  it('keeps nothing when told so', async () => {
    await expectWhole((await open({ cache: false })).weights)
    expect(await kept()).toEqual([])
  })

  it('reports every byte and every file, and ends with all of them', async () => {
    const seen: { bytesLoaded: number; bytesTotal: number; filesLoaded: number; filesTotal: number }[] = []
    await open({ report: (progress) => seen.push(progress) })
    expect(seen.at(-1)).toMatchObject({ bytesLoaded: shard.length, bytesTotal: shard.length, filesLoaded: 1 })
    for (const { bytesLoaded, bytesTotal } of seen) expect(bytesLoaded).toBeLessThanOrEqual(bytesTotal)
  })

  it('goes on where the connection broke', async () => {
    const half = shard.length >> 1
    server.intercept = (file, request, response, nth) => {
      if (file !== SHARD || nth > 1) return false
      send(shard, request, response, half)
      return true
    }
    await expectWhole((await open()).weights)
    const ranges = server.requests.filter(({ file }) => file === SHARD).map(({ range }) => range)
    expect(ranges).toHaveLength(2)
    const from = Number(ranges[1]!.match(/^bytes=(\d+)-$/)![1])
    expect(from).toBeGreaterThan(0)
    expect(from).toBeLessThanOrEqual(half)
  })

  it('goes on in a later load where an aborted one stopped', async () => {
    const stop = new AbortController()
    server.intercept = (file, _request, response) => {
      if (file !== SHARD) return false
      response.writeHead(200, { 'content-length': shard.length })
      response.write(shard.subarray(0, 1000))
      return true
    }
    const first = open({ signal: stop.signal, report: ({ bytesLoaded }) => bytesLoaded > 0 && stop.abort('enough') })
    await expect(first).rejects.toBe('enough')
    server.intercept = undefined
    await expectWhole((await open()).weights)
    expect(server.requests.at(-1)).toEqual({ file: SHARD, range: 'bytes=1000-' })
  })

  it('has closed every file when it is given up', async () => {
    const stop = new AbortController()
    let writers = 0
    let asked = 0
    const store = storeFor(cache)
    const counted: FileStore = {
      ...store,
      async write(url, sha256) {
        const writer = await store.write(url, sha256)
        writers++
        const close = async () => {
          // A disk is slow at times.
          if (url.endsWith('tokenizer.json')) await new Promise((resolve) => setTimeout(resolve, 50))
          await writer.close()
          writers--
        }
        return Object.assign(Object.create(writer) as FileWriter, { close })
      },
    }
    server.intercept = (file) => {
      if (!file.startsWith('tokenizer')) return false
      if (++asked === 2) stop.abort('enough')
      return true
    }
    await expect(open({ cache: counted, signal: stop.signal })).rejects.toBe('enough')
    expect(writers).toBe(0)
  })

  it('begins anew where the server does not know ranges', async () => {
    server.intercept = (file, request, response, nth) => {
      if (file !== SHARD) return false
      if (nth === 1) send(shard, request, response, 100)
      else response.writeHead(200).end(shard)
      return true
    }
    await expectWhole((await open()).weights)
  })

  it('tries again when the server is busy', async () => {
    server.intercept = (file, _request, response, nth) => {
      if (file !== SHARD || nth > 2) return false
      response.writeHead(503).end()
      return true
    }
    await expectWhole((await open()).weights)
  })

  it('says why it tries again, and leaves nothing where nothing came', async () => {
    const empty = join(cache, 'empty')
    server.intercept = (_file, _request, response) => {
      response.writeHead(503, { 'retry-after': '0.001' }).end()
      return true
    }
    const retries: string[] = []
    const report: OpenOptions['report'] = ({ retry }) => retry !== undefined && retries.push(retry)
    const error = await refusal(open({ cache: empty, report }))
    expect(error.message).toContain('the server answered 503')
    expect(retries).toHaveLength(4)
    for (const line of retries)
      expect(line).toMatch(/^mlc-chat-config\.json: the server answered 503\. Trying again in /)
    expect(await readdir(cache)).toEqual([])
    // Nor where bytes came that were of no use.
    const bad = shard.map((byte, i) => (i === 77 ? byte ^ 1 : byte))
    server.intercept = (file, request, response) => {
      if (file === SHARD) send(bad, request, response)
      return file === SHARD
    }
    await refusal(open({ cache: empty }))
    const names = await readdir(empty, { recursive: true })
    expect(names.filter((name) => name.includes(SHARD))).toEqual([])
  })

  it('says which network failed, and how', async () => {
    const { url } = server
    await server.close()
    const retries: string[] = []
    const aborter = new AbortController()
    const report: OpenOptions['report'] = ({ retry }) => {
      if (retry === undefined) return
      retries.push(retry)
      aborter.abort(new Error('heard'))
    }
    await expect(open({ report, signal: aborter.signal })).rejects.toThrow('heard')
    expect(retries).toEqual([expect.stringContaining(`the network failed (connect ECONNREFUSED ${new URL(url).host})`)])
    server = await hub(withHash())
  })

  it.each([
    ['md5', 'MD5'],
    ['sha256', 'SHA-256'],
  ] as const)('refuses a shard that is not what its %s says, and keeps nothing of it', async (kind, name) => {
    await server.close()
    server = await hub(withHash(kind))
    const bad = shard.map((byte, i) => (i === 77 ? byte ^ 1 : byte))
    server.intercept = (file, request, response) => {
      if (file === SHARD) send(bad, request, response)
      return file === SHARD
    }
    const error = await refusal(open())
    expect(error.message).toContain(SHARD)
    expect(error.message).toContain(name)
    expect(await kept()).not.toContain(SHARD)
    server.intercept = undefined
    await expectWhole((await open()).weights)
  })

  it('replaces the old part of a file that has changed since', async () => {
    server.intercept = (file, _request, response) => {
      if (file !== SHARD) return false
      response.writeHead(200, { 'content-length': shard.length })
      response.write(new Uint8Array(500).fill(9))
      return true
    }
    const stop = new AbortController()
    await expect(
      open({ signal: stop.signal, report: ({ bytesLoaded }) => bytesLoaded > 0 && stop.abort('enough') }),
    ).rejects.toBe('enough')
    server.intercept = undefined
    await expectWhole((await open()).weights)
  })

  it('says which shard is missing', async () => {
    server.intercept = (file, _request, response) => {
      if (file === SHARD) response.writeHead(404).end()
      return file === SHARD
    }
    const error = await refusal(open())
    expect(error.message).toContain(`has no ${SHARD}`)
    expect(await kept()).not.toContain(SHARD)
  })

  it('refuses a file that is longer than the repository says', async () => {
    server.intercept = (file, _request, response) => {
      if (file === SHARD) response.writeHead(200).end(Buffer.concat([shard, new Uint8Array(5)]))
      return file === SHARD
    }
    expect((await refusal(open())).message).toContain('more than')
    expect(await kept()).not.toContain(SHARD)
  })

  it('says that a private model may need terms to be accepted', async () => {
    server.intercept = (_file, _request, response) => {
      response.writeHead(401).end()
      return true
    }
    expect((await refusal(open())).message).toContain('private')
  })

  it('downloads again what was cut short in the cache', async () => {
    await open()
    const entries = await readdir(cache, { recursive: true })
    await truncate(join(cache, entries.find((name) => name.endsWith(SHARD))!), 10)
    await expectWhole((await open()).weights)
  })
})

describe('a repository in a folder', () => {
  const inFolder = (path: string) =>
    openRepository({ kind: 'folder', path }, { report: () => {}, signal: new AbortController().signal })

  it('is read whole', async () => {
    await writeRepository(repository, cache)
    await expectWhole((await inFolder(cache)).weights)
  })

  it.each([
    ['mlc-chat-config.json', /neither mlc-chat-config.json .* nor config.json/],
    ['tokenizer.json', /tokenizer.json/],
    [SHARD, /params_shard_0.bin is missing/],
  ])('says so when %s is missing', async (name, message) => {
    await writeRepository(repository, cache)
    await rm(join(cache, name))
    expect((await refusal(inFolder(cache))).message).toMatch(message)
  })

  it('says so when a shard is cut short', async () => {
    await writeRepository(repository, cache)
    await truncate(join(cache, SHARD), 100)
    expect((await refusal(inFolder(cache))).message).toMatch(/has 100 bytes and should have/)
  })

  it.each([
    ['not JSON', () => '{', /not JSON/],
    ['an unknown format', (text: string) => text.replaceAll('"raw"', '"zip"'), /unknown format zip/],
    ['an unknown type', (text: string) => text.replaceAll('"float32"', '"int3"'), /unknown type int3/],
    [
      'a tensor outside its shard',
      (text: string) => text.replace('"byteOffset":0', '"byteOffset":1e9'),
      /at 1000000000/,
    ],
  ])('refuses a manifest with %s', async (_, change, message) => {
    await writeRepository(repository, cache)
    const path = join(cache, 'tensor-cache.json')
    await writeFile(path, change(await readFile(path, 'utf8')))
    expect((await refusal(inFolder(cache))).message).toMatch(message)
  })
})

it('finds a hub repository where WebLLM does, and leaves other addresses alone', () => {
  expect(resolveUrl('https://huggingface.co/a/b')).toBe('https://huggingface.co/a/b/resolve/main/')
  expect(resolveUrl('https://huggingface.co/a/b/resolve/v2/')).toBe('https://huggingface.co/a/b/resolve/v2/')
  expect(resolveUrl('http://localhost:1/models/x')).toBe('http://localhost:1/models/x/')
})

it.each(['md5', 'sha256'] as const)('a file is held against its %s, where that is named', async (kind) => {
  const signal = new AbortController().signal
  const get = (right: boolean) => {
    const named = {
      [kind]: createHash(kind)
        .update(right ? shard : 'another')
        .digest('hex')
        .toUpperCase(),
    }
    const files = new RemoteFiles(server.url, noStore)
    return files.fetch({ name: SHARD, ...named }, () => {}, signal)
  }
  await get(true)
  const found = createHash(kind).update(shard).digest('hex')
  expect((await refusal(get(false))).message).toContain(`has the ${kind === 'md5' ? 'MD5' : 'SHA-256'} hash ${found}`)
})

describe('what is kept', () => {
  it('is counted and deleted, one repository at a time', async () => {
    const place = { kind: 'url', url: server.url } as const
    const other = { kind: 'url', url: 'https://models.example/team/small' } as const
    expect(await keptOf(place, cache)).toBe(0)
    await open()
    const whole = (await Promise.all((await kept()).map((name) => readFile(join(cache, hostOf(server), name))))).reduce(
      (sum, { length }) => sum + length,
      0,
    )
    expect(await keptOf(place, cache)).toBe(whole)
    expect(await keptOf(other, cache)).toBe(0)
    expect([await isWhole(place, cache), await isWhole(other, cache)]).toEqual([true, false])
    await truncate(join(cache, hostOf(server), SHARD), 5)
    expect(await isWhole(place, cache)).toBe(false)
    await open()
    // Without its tokenizer nothing can be asked of it.
    const tokenizer = join(cache, hostOf(server), 'tokenizer.json')
    const text = await readFile(tokenizer)
    await rm(tokenizer)
    expect(await isWhole(place, cache)).toBe(false)
    await writeFile(tokenizer, text)
    expect(await isWhole(place, cache)).toBe(true)
    await forget(other, cache)
    expect(await keptOf(place, cache)).toBe(whole)
    await forget(place, cache)
    expect([await keptOf(place, cache), await kept()]).toEqual([0, []])
  })
})

/** As the store names its folders. */
const hostOf = ({ url }: Hub) => new URL(url).host.replace(':', '%3A')

describe('a GGUF file for who reads its weights himself', () => {
  const signal = new AbortController().signal
  const onDisk = (url: string, where: OpenOptions['cache'] = cache) =>
    openOnDisk({ kind: 'url', url }, { cache: where, report: () => {}, signal })

  it('lies whole where it is said to, with its text read', async () => {
    const path = join(cache, 'made-up.gguf')
    await writeMadeUp(path, { types: { '*': 'Q4_0' }, chatTemplate: 'a template' })
    const bytes = await readFile(path)
    const files = await hub(new Map([['made-up.gguf', new Uint8Array(bytes)]]))
    try {
      const found = await onDisk(`${files.url}made-up.gguf`)
      expect(found.path.startsWith(cache)).toBe(true)
      expect(found.path).not.toBe(path)
      expect(Buffer.compare(await readFile(found.path), bytes)).toBe(0)
      expect(found.text.tokenizerConfig).toMatchObject({ chat_template: 'a template' })
      const here = await openOnDisk({ kind: 'folder', path }, { report: () => {}, signal })
      expect(here).toMatchObject({ path, digest: found.digest, about: found.about })
      await expect(onDisk(`${files.url}made-up.gguf`, false)).rejects.toMatchObject({ code: 'model_files' })
    } finally {
      await files.close()
    }
  })

  it('is asked for where there is none', async () => {
    await expect(onDisk(server.url)).rejects.toThrow(/a GGUF file is needed/)
  })
})
