import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ownFolder } from '../../../../test/support/own-folder.js'
import { type Hub, hub } from '../../../models/files/hub.test-helper.js'
import { diskStore } from '../../../models/files/store/disk.js'
import { noStore } from '../../../models/files/store/memory.js'
import { seenStore } from './seen-store.js'
import { storeCaches } from './store-caches.js'

const bytes = Uint8Array.from({ length: 100_000 }, (_, i) => (i * 31) % 251)
const folder = ownFolder()
let server: Hub

beforeAll(async () => {
  server = await hub(new Map([['shard.bin', bytes]]))
})
afterAll(() => server.close())

const open = (store = diskStore(folder)!) => storeCaches(seenStore(store), fetch).open('webllm/model')
const bytesOf = async (response: Response | undefined) => new Uint8Array(await response!.arrayBuffer())
const namesIn = async (cache: Awaited<ReturnType<typeof open>>) => (await cache.keys()).map(({ url }) => url)

test('a file is fetched once and found again, by whoever opens the same folder', async () => {
  const url = `${server.url}shard.bin`
  const cache = await open()
  expect(await cache.match(new Request(url))).toBeUndefined()
  expect(await namesIn(cache)).toEqual([])
  await cache.add(new Request(url))
  expect(await bytesOf(await cache.match(url))).toEqual(bytes)
  expect(await namesIn(cache)).toEqual([url])
  const fetched = server.requests.length
  const later = await open()
  expect(await bytesOf(await later.match(new Request(url)))).toEqual(bytes)
  expect(server.requests).toHaveLength(fetched)
  expect(await later.delete(url)).toBe(true)
  expect(await later.delete(url)).toBe(false)
  expect(await later.match(url)).toBeUndefined()
})

test('what is not there, or was left while it was fetched, is not kept', async () => {
  const cache = await open()
  await expect(cache.add(`${server.url}nothing.bin`)).rejects.toThrow('nothing.bin')
  const left = new Request(`${server.url}shard.bin`, { signal: AbortSignal.abort(new Error('left')) })
  await expect(cache.add(left)).rejects.toThrow('left')
  expect(await cache.match(`${server.url}shard.bin`)).toBeUndefined()
})

test('what is put is kept', async () => {
  const cache = await open()
  const url = 'https://models.example/a/config.json'
  await cache.put(url, new Response('one'))
  await cache.put(url, new Response('two'))
  expect(await (await cache.match(url))!.text()).toBe('two')
})

test('where nothing is to be kept a file is there until it has been read', async () => {
  const cache = await open(noStore)
  const url = `${server.url}shard.bin`
  await cache.add(url)
  // Looking whether it is there does not read it.
  await cache.match(url)
  expect(await namesIn(cache)).toEqual([url])
  expect(await bytesOf(await cache.match(url))).toEqual(bytes)
  expect(await cache.match(url)).toBeUndefined()
  expect(await namesIn(cache)).toEqual([])
})

test('files of a folder are read where they lie, also as WebLLM writes their addresses', async () => {
  await writeFile(join(folder, 'own.bin'), bytes)
  const cache = await open()
  const base = pathToFileURL(folder).href
  for (const url of [`${base}/own.bin`, `${base}/resolve/main/own.bin`]) {
    expect(await bytesOf(await cache.match(url))).toEqual(bytes)
  }
  expect(await cache.match(`${base}/none.bin`)).toBeUndefined()
  await expect(cache.add(`${base}/none.bin`)).rejects.toThrow('none.bin')
  expect(await readFile(join(folder, 'own.bin'))).toEqual(Buffer.from(bytes))
})
