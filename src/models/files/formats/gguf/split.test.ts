/** A model in several files, from wherever it may come: each part is whole, or named for what it lacks. */
import { createHash } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ownFolder } from '../../../../../test/support/own-folder.js'
import { type Hub, hub, send } from '../../hub.test-helper.js'
import { locationOf, type ModelLocation } from '../../location.js'
import { type OpenOptions, openRepository, surveyRepository } from '../../open.js'
import { verify } from '../../verify.js'
import { partOf, writeMadeUp } from './made-up.test-helper.js'

const PARTS = 3
const NAMES = Array.from({ length: PARTS }, (_, i) => partOf('made-up.gguf', i, PARTS))
const SECOND = NAMES[1]!
const ROOT = 'org/made-up/resolve/main/'

const folder = ownFolder()
let whole: string
const parts = new Map<string, Buffer>()
beforeAll(async () => {
  whole = join(folder, 'whole.gguf')
  const types = { '*': 'Q8_0', attn_v: 'Q6_K', ffn_up: 'F16' }
  await writeMadeUp(whole, { types })
  await writeMadeUp(join(folder, 'made-up.gguf'), { types, parts: PARTS })
  for (const name of NAMES) parts.set(name, await readFile(join(folder, name)))
})

let server: Hub
let cache: string
let count = 0
const served = new Map<string, Uint8Array>()
beforeEach(async () => {
  server = await hub(served)
  cache = join(folder, `cache-${count++}`)
})
afterEach(async () => {
  await server.close()
  served.clear()
})

const open = (place: ModelLocation, more: Partial<OpenOptions> = {}) =>
  openRepository(place, { report: () => {}, signal: new AbortController().signal, cache, ...more })

async function expectWhole(place: ModelLocation): Promise<void> {
  const [{ weights }, { weights: expected }] = [await open(place), await open(locationOf(whole))]
  expect([...weights.names].sort()).toEqual([...expected.names].sort())
  for (const name of expected.names) {
    const { data, ...described } = await expected.read(name)
    const found = await weights.read(name)
    expect(found).toMatchObject(described)
    expect(Buffer.compare(found.data, data), name).toBe(0)
  }
}

const atAddress = (files: ReadonlyMap<string, Uint8Array>, named = NAMES[0]!): ModelLocation => {
  for (const [name, bytes] of files) served.set(ROOT + name, bytes)
  return locationOf(`${server.url}${ROOT}${named}`)
}

const SOURCES: readonly [string, (files: ReadonlyMap<string, Uint8Array>) => Promise<ModelLocation>][] = [
  ['at an address', async (files) => atAddress(files)],
  [
    'in a folder',
    async (files) => {
      const path = join(folder, `folder-${count++}`)
      await mkdir(path)
      for (const [name, bytes] of files) await writeFile(join(path, name), bytes)
      return locationOf(join(path, NAMES[0]!))
    },
  ],
  [
    'in files that a page was given',
    async (files) => {
      const chosen = [...files].map(([name, bytes]) => new File([Uint8Array.from(bytes)], name))
      return { kind: 'files', files: chosen.reverse() }
    },
  ],
]

describe.each(SOURCES)('a model in parts %s', (_, placeOf) => {
  it('is the one that lies in one file elsewhere', async () => {
    await expectWhole(await placeOf(parts))
  })

  it('is refused with the name of a part that is cut, in its weights or its head', async () => {
    const second = parts.get(SECOND)!
    for (const length of [second.length - 100, 40]) {
      const place = await placeOf(new Map(parts).set(SECOND, second.subarray(0, length)))
      await expect(open(place, { cache: false })).rejects.toThrow(`${SECOND} is incomplete`)
    }
  })

  it('is refused with the name of a part that is missing', async () => {
    const others = new Map(parts)
    others.delete(SECOND)
    const opening = open(await placeOf(others))
    await expect(opening).rejects.toThrow(SECOND)
    await expect(opening).rejects.toThrow(/is missing|has no such file/)
  })
})

describe('a model in parts at an address', () => {
  it.each(NAMES)('is known by the heads of all of them before anything else is fetched: %s', async (name) => {
    const place = atAddress(parts, name)
    const { bytes, left } = await surveyRepository(place, { signal: new AbortController().signal, cache })
    const total = [...parts.values()].reduce((sum, { length }) => sum + length, 0)
    // Files end on a whole 32 bytes, and their heads do not tell of the rest.
    expect(total - bytes).toBeLessThan(PARTS * 32)
    expect(left).toBe(bytes)
    const heads = NAMES.map((each) => ({ file: ROOT + each, range: `bytes=0-${2 ** 20 - 1}` }))
    expect(server.requests).toHaveLength(PARTS)
    expect(server.requests).toEqual(expect.arrayContaining(heads))
  })

  it('goes on where a part broke off, and is whole then', async () => {
    const second = parts.get(SECOND)!
    const ranges: (string | undefined)[] = []
    server.intercept = (file, request, response) => {
      if (file !== ROOT + SECOND || request.method === 'HEAD' || request.headers.range?.startsWith('bytes=0-'))
        return false
      ranges.push(request.headers.range)
      send(second, request, response, ranges.length === 1 ? second.length >> 1 : undefined)
      return true
    }
    await expectWhole(atAddress(parts))
    expect(ranges).toEqual([undefined, expect.stringMatching(/^bytes=[1-9]\d*-$/)])
  })

  it('has each part held against the hash that its source names', async () => {
    const hashes = new Map([...parts].map(([name, bytes]) => [name, createHash('sha256').update(bytes).digest('hex')]))
    const right = hashes.get(SECOND)!
    server.intercept = (file, request, response) => {
      if (request.method !== 'HEAD') return false
      response.writeHead(200, { 'x-linked-etag': `"${hashes.get(file.slice(ROOT.length))}"` }).end()
      return true
    }
    const place = atAddress(parts)
    hashes.set(SECOND, '0'.repeat(64))
    await expect(open(place)).rejects.toThrow(`${SECOND} has the SHA-256 hash ${right}`)
    hashes.set(SECOND, right)
    await expectWhole(place)
    const verified = []
    for await (const each of verify(place, cache, new AbortController().signal)) verified.push(each)
    expect(verified).toEqual(NAMES.map((name) => ({ name, by: 'sha256' })))
    // All of it is kept, and nothing is asked for any more.
    const offline = () => Promise.reject(new TypeError('offline'))
    await expect(open(place, { fetch: offline })).resolves.toBeDefined()
  })

  it('that was named by another number of parts is told which it has', async () => {
    const names = NAMES.map((name) => name.replace('of-00003', 'of-00002'))
    const files = new Map(names.map((name, i) => [name, parts.get(NAMES[i]!)!]))
    await expect(open(atAddress(files, names[0]!))).rejects.toThrow(
      'is one of 3 parts, whose names end in -00001-of-00003',
    )
  })
})
