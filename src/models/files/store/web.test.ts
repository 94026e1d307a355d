import { afterEach, expect, test, vi } from 'vitest'
import { webStore } from './web.js'

const base = 'https://models.example/org/model/resolve/main/'
const url = `${base}weights.bin`

afterEach(() => vi.unstubAllGlobals())

/** A Cache API whose disk takes its time: until `write` is called nothing is kept. */
function slowCaches() {
  const kept = new Map<string, Response>()
  let write = (_room: boolean): void => {}
  const hasRoom = new Promise<boolean>((resolve) => {
    write = resolve
  })
  const cache = {
    match: async (key: string | Request) => kept.get(typeof key === 'string' ? key : key.url)?.clone(),
    put: async (key: string, response: Response) => {
      if (!(await hasRoom)) throw new DOMException('full', 'QuotaExceededError')
      kept.set(key, response)
    },
    keys: async () => [...kept.keys()].map((key) => ({ url: key })),
    delete: async ({ url }: Request) => kept.delete(url),
  }
  const model = 'webllm/model'
  vi.stubGlobal('caches', { open: async () => cache, has: async (name: string) => name === model })
  return { write: (room = true) => write(room) }
}

test('a file is read while it is being kept, and counts as kept once it is', async () => {
  const disk = slowCaches()
  const store = webStore()
  const writer = await store.write(url)
  await writer.append(new Uint8Array([1, 2, 3, 4]))
  const file = await writer.commit()
  expect(await file.slice(1, 3)).toEqual(new Uint8Array([2, 3]))
  expect(await (await store.read(url))!.slice(0, 4)).toEqual(new Uint8Array([1, 2, 3, 4]))
  const bytes = store.kept(base)
  expect(await Promise.race([bytes, Promise.resolve('not yet')])).toBe('not yet')
  disk.write()
  expect(await bytes).toBe(4)
  expect(await file.fleeting).toBe(false)
})

test('what has no room is used all the same, and said to be fleeting', async () => {
  const disk = slowCaches()
  const store = webStore()
  const writer = await store.write(url)
  await writer.append(new Uint8Array([5]))
  const file = await writer.commit()
  disk.write(false)
  expect(await file.fleeting).toBe(true)
  expect(await file.slice(0, 1)).toEqual(new Uint8Array([5]))
  expect(await store.kept(base)).toBe(0)
  expect(await store.read(url)).toBeUndefined()
})

test('what has just come is read where it is, and a large file from the browser', async () => {
  slowCaches()
  const reads = vi.spyOn(Blob.prototype, 'arrayBuffer')
  const read = async (...sizes: number[]) => {
    const writer = await webStore().write(url)
    for (const [i, size] of sizes.entries()) await writer.append(new Uint8Array(size).fill(i + 1))
    const file = await writer.commit()
    return file.slice(sizes[0]! - 1, sizes[0]! + 1)
  }
  expect(await read(2, 2)).toEqual(new Uint8Array([1, 2]))
  expect(reads).not.toHaveBeenCalled()
  expect(await read(9 * 2 ** 20, 9 * 2 ** 20)).toEqual(new Uint8Array([1, 2]))
  expect(reads).toHaveBeenCalledOnce()
  reads.mockRestore()
})
