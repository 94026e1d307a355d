import { chmod, mkdir, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { ownFolder } from '../../../../../test/support/own-folder.js'
import { breathe } from '../../../../platform/turns.js'
import type { MessageItem, ResponseResource } from '../wire/resource.js'
import { claimedResponses, folderResponses } from './folder.js'
import { indexedDbResponses } from './indexed-db.js'
import { memoryResponses, shelvedResponses } from './shelved.js'
import type { KeptConversation, KeptResponse, Owner, ResponseBounds, ResponseStore, Shelf } from './store.js'

/** When a test begins: a second may end between two looks at the clock. */
let now = 0
beforeEach(() => {
  now = Math.floor(Date.now() / 1000)
})

function kept(n: number, caller = 'ann', age = 0): KeptResponse {
  const text = `Answer ${n}`
  const item = { type: 'message', id: `msg_${n}`, status: 'completed', role: 'assistant' } as const
  return {
    caller,
    response: {
      id: `resp_${n.toString(16)}`,
      created_at: now - age,
      output: [{ ...item, content: [{ type: 'output_text', text, annotations: [], logprobs: [] }] }],
    } as unknown as ResponseResource,
    input: [{ ...item, id: `msg_in_${n}`, role: 'user', content: [{ type: 'input_text', text: `Question ${n}` }] }],
  }
}

const ANN = { caller: 'ann' }
const BOB = { caller: 'bob' }
const itemOf = async (store: ResponseStore, id: string, owner: Owner = ANN) => (await store.items(owner, [id])).get(id)

const folder = ownFolder()
let count = 0

const STORES: Record<string, (bounds?: ResponseBounds) => ResponseStore> = {
  'in memory': (bounds) => memoryResponses(bounds),
  // As in a frame of another site: Node has no IndexedDB.
  'in an IndexedDB that is forbidden': (bounds) => indexedDbResponses('responses', bounds),
  'in a folder': (bounds) => folderResponses(join(folder, `${count++}`), bounds),
}

describe.each(Object.entries(STORES))('%s', (_, open) => {
  test('a response and its items are found again, by its caller alone', async () => {
    const store = open()
    await store.put(kept(1))
    expect(await store.get(ANN, 'resp_1')).toEqual(kept(1))
    expect(await itemOf(store, 'msg_1')).toEqual(kept(1).response.output[0])
    expect(await itemOf(store, 'msg_in_1')).toEqual(kept(1).input[0])
    expect([...(await store.items(ANN, ['msg_1', 'msg_7'])).keys()]).toEqual(['msg_1'])
    expect(await store.get(BOB, 'resp_1')).toBeUndefined()
    expect(await itemOf(store, 'msg_1', BOB)).toBeUndefined()
    expect(await store.delete(BOB, 'resp_1')).toBe(false)
    expect(await store.get(ANN, '../resp_1')).toBeUndefined()
    expect(await store.get(ANN, '__proto__')).toBeUndefined()
  })

  test('what has no items, or those of another, is deleted after it', async () => {
    const { conversations } = open()
    const item = kept(1).input[0]!
    const talk = (id: string, items: KeptConversation['items']): KeptConversation => ({
      caller: 'ann',
      conversation: { id, object: 'conversation', created_at: now, metadata: {} },
      items,
      changedAt: now,
    })
    const all = [talk('conv_1', []), talk('conv_2', [item]), talk('conv_3', [item]), talk('conv_4', [])]
    for (const each of all) await conversations!.put(each)
    for (const { conversation } of all.toReversed())
      expect(await conversations!.delete(ANN, conversation.id)).toBe(true)
  })

  test('conversations are kept with responses, under the same limits, by when they last changed', async () => {
    const store = open({ maxResponses: 2, maxAge: 100 })
    const talk = (n: number, age = 0): KeptConversation => ({
      caller: 'ann',
      conversation: { id: `conv_${n}`, object: 'conversation', created_at: now - 1000, metadata: {} },
      items: kept(n).input,
      changedAt: now - age,
    })
    const { conversations } = store
    await conversations!.put(talk(1))
    await conversations!.put(talk(2, 101))
    expect(await conversations!.get(ANN, 'conv_1')).toEqual(talk(1))
    expect(await conversations!.get(ANN, 'conv_2')).toBeUndefined()
    expect(await conversations!.get(BOB, 'conv_1')).toBeUndefined()
    expect(await store.get(ANN, 'conv_1')).toBeUndefined()
    expect(await store.delete(ANN, 'conv_1')).toBe(false)
    for (const n of [3, 4]) await store.put(kept(n))
    expect(await conversations!.get(ANN, 'conv_1')).toBeUndefined()
    expect(await store.get(ANN, 'resp_3')).toBeDefined()
  })

  test('what is deleted is gone', async () => {
    const store = open()
    await store.put(kept(1))
    expect(await store.delete(ANN, 'resp_1')).toBe(true)
    expect(await store.delete(ANN, 'resp_1')).toBe(false)
    expect(await store.get(ANN, 'resp_1')).toBeUndefined()
    expect(await itemOf(store, 'msg_1')).toBeUndefined()
  })

  test('if there are too many, the one unused for longest is dropped first', async () => {
    const store = open({ maxResponses: 2 })
    await store.put(kept(1))
    await store.put(kept(2))
    await store.get(ANN, 'resp_1')
    await store.put(kept(3))
    expect(await store.get(ANN, 'resp_2')).toBeUndefined()
    expect(await store.get(ANN, 'resp_1')).toBeDefined()
    expect(await store.get(ANN, 'resp_3')).toBeDefined()
  })

  test('bytes are limited, and one that can never fit displaces no other', async () => {
    const size = JSON.stringify(kept(1)).length
    const store = open({ maxBytes: 2 * size + 10 })
    for (const n of [1, 2, 3]) await store.put(kept(n))
    expect(await store.get(ANN, 'resp_1')).toBeUndefined()
    const long = kept(4)
    await store.put({ ...long, input: [{ ...long.input[0]!, id: 'x'.repeat(3 * size) }] })
    expect(await store.get(ANN, 'resp_4')).toBeUndefined()
    expect(await store.get(ANN, 'resp_2')).toBeDefined()
    expect(await store.get(ANN, 'resp_3')).toBeDefined()
  })

  test('letters of several bytes count as so many', async () => {
    const wide = (n: number) => ({ ...kept(n), input: [{ ...kept(n).input[0]!, id: `${n}${'€'.repeat(1000)}` }] })
    const store = open({ maxBytes: 3500 + JSON.stringify(kept(1)).length })
    for (const n of [1, 2]) await store.put(wide(n))
    expect(await store.get(ANN, 'resp_1')).toBeUndefined()
    expect(await store.get(ANN, 'resp_2')).toBeDefined()
  })

  test('what is too old is not returned', async () => {
    const store = open({ maxAge: 100 })
    await store.put(kept(1, 'ann', 101))
    await store.put(kept(2, 'ann', 50))
    expect(await store.get(ANN, 'resp_1')).toBeUndefined()
    expect(await store.get(ANN, 'resp_2')).toBeDefined()
  })

  test('limits hold for each caller separately', async () => {
    const store = open({ maxResponses: 2 })
    await store.put(kept(1))
    for (let n = 2; n < 20; n++) await store.put(kept(n, 'bob'))
    expect(await store.get(ANN, 'resp_1')).toBeDefined()
    expect(await store.get(BOB, 'resp_11')).toBeUndefined()
    expect(await store.get(BOB, 'resp_12')).toBeDefined()
  })

  test('of all callers together whoever has the most gives way', async () => {
    const size = JSON.stringify(kept(1)).length
    const store = open({ maxBytesInAll: 4 * size + 40 })
    await store.put(kept(1))
    for (const n of [2, 3, 4, 5, 6]) await store.put(kept(n, 'bob'))
    await store.put(kept(7, 'cid'))
    expect(await store.get(ANN, 'resp_1')).toBeDefined()
    expect(await store.get({ caller: 'cid' }, 'resp_7')).toBeDefined()
    expect(await store.get(BOB, 'resp_6')).toBeDefined()
    expect(await store.get(BOB, 'resp_4')).toBeUndefined()
  })

  test('callers may have as much together as is allowed, and what has just come stays', async () => {
    const size = JSON.stringify(kept(1)).length
    for (const [bounds, first] of [
      [{ maxBytes: size }, true],
      [{ maxBytesInAll: 2 * size }, true],
      [{ maxBytesInAll: 2 * size - 1 }, false],
    ] as const) {
      const store = open(bounds)
      await store.put(kept(1))
      await store.put(kept(2, 'bob'))
      expect((await store.get(ANN, 'resp_1')) !== undefined, JSON.stringify(bounds)).toBe(first)
      expect(await store.get(BOB, 'resp_2')).toBeDefined()
    }
  })

  test('an item’s id belongs to its caller, even if others use the same one', async () => {
    const store = open()
    await store.put(kept(1))
    const other = kept(2, 'bob')
    await store.put({ ...other, input: [{ ...other.input[0]!, id: 'msg_1' }] })
    expect(await itemOf(store, 'msg_1')).toEqual(kept(1).response.output[0])
    await store.delete(BOB, 'resp_2')
    expect(await itemOf(store, 'msg_1')).toEqual(kept(1).response.output[0])
  })

  test('an item that others refer to is there as long as one of them is', async () => {
    const store = open()
    await store.put(kept(1))
    await store.put({ ...kept(2), input: kept(1).response.output })
    await store.delete(ANN, 'resp_2')
    expect(await itemOf(store, 'msg_1')).toEqual(kept(1).response.output[0])
    await store.put({ ...kept(2), input: kept(1).response.output })
    await store.delete(ANN, 'resp_1')
    expect(await itemOf(store, 'msg_1')).toEqual(kept(1).response.output[0])
    await store.delete(ANN, 'resp_2')
    expect(await itemOf(store, 'msg_1')).toBeUndefined()
  })

  test('projects that are kept apart know nothing of each other', async () => {
    const store = open()
    const [one, two] = ['team/one', 'team/two'].map((project) => ({ caller: 'ann', project })) as [Owner, Owner]
    await store.put({ ...kept(1), ...one })
    expect(await store.get(one, 'resp_1')).toMatchObject(one)
    expect(await itemOf(store, 'msg_1', one)).toBeDefined()
    for (const owner of [two, ANN]) {
      expect(await store.get(owner, 'resp_1')).toBeUndefined()
      expect(await itemOf(store, 'msg_1', owner)).toBeUndefined()
      expect(await store.delete(owner, 'resp_1')).toBe(false)
    }
    expect(await store.delete(one, 'resp_1')).toBe(true)
  })

  test('a response that is put again is the newer one, and counted once', async () => {
    const store = open({ maxResponses: 1 })
    await store.put(kept(1))
    const later = { ...kept(1), input: [] }
    await store.put(later)
    expect(await store.get(ANN, 'resp_1')).toEqual(later)
    expect(await itemOf(store, 'msg_in_1')).toBeUndefined()
  })
})

test('memory lets go of what is deleted, and of all of it when it is closed', async () => {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  const held = () => {
    gc()
    return process.memoryUsage().heapUsed
  }
  const store = memoryResponses()
  const before = held()
  for (let n = 0; n < 40; n++) {
    await store.put({ ...kept(n), input: [{ ...kept(n).input[0]!, id: `${n}`.repeat(100_000) }] })
    await store.delete(ANN, `resp_${n.toString(16)}`)
  }
  expect(held() - before).toBeLessThan(3_000_000)
  await store.put(kept(1))
  await store.close!()
  expect(await store.get(ANN, 'resp_1')).toBeUndefined()
})

test('a folder holds what an earlier process left there, and no more than its bounds', async () => {
  const path = join(folder, 'earlier')
  const first = folderResponses(path)
  for (const n of [1, 2, 3]) await first.put(kept(n))
  await first.close!()
  await writeFile(join(path, 'resp_f00.json'), '{"torn')
  const second = folderResponses(path, { maxResponses: 2 })
  expect(await second.get(ANN, 'resp_3')).toEqual(kept(3))
  expect(await second.get(ANN, 'resp_f00')).toBeUndefined()
  await second.put(kept(4))
  const names = (await readdir(path)).filter((name) => name !== 'resp_f00.json')
  expect(names).toHaveLength(2)
})

test('what a folder was given last is the newest to the next process, also where the clock was set back', async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  onTestFinished(() => void vi.useRealTimers())
  const path = join(folder, 'set-back')
  const hours = 6 * 3_600_000
  vi.setSystemTime(Date.now() + hours)
  for (const n of [1, 2]) await folderResponses(path).put(kept(n))
  vi.setSystemTime(Date.now() - hours)
  await folderResponses(path).put(kept(3))
  const store = folderResponses(path, { maxResponses: 2 })
  expect(await Promise.all([1, 2, 3].map(async (n) => (await store.get(ANN, `resp_${n}`)) !== undefined))).toEqual([
    false,
    true,
    true,
  ])
})

test('what of a folder cannot be read, or is no response any more, is passed over, and the rest is there', async () => {
  const path = join(folder, 'odd')
  const first = folderResponses(path)
  for (const n of [1, 2, 3]) await first.put(kept(n))
  await rm(join(path, 'resp_2.json'))
  // As a link to nothing, a folder can be read by nobody, whoever runs the test.
  for (const name of ['resp_2.json', 'conv_f.json', 'resp_f.json.new']) await mkdir(join(path, name))
  await symlink(join(path, 'nowhere'), join(path, 'resp_e.json'))
  await writeFile(join(path, 'resp_3.json'), '')
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  onTestFinished(() => warn.mockRestore())
  for (const store of [first, folderResponses(path)]) {
    for (const id of ['resp_2', 'resp_3', 'resp_e', 'resp_f']) expect(await store.get(ANN, id), id).toBeUndefined()
    expect(await store.get(ANN, 'resp_1')).toEqual(kept(1))
    await store.put(kept(4))
    expect(await store.get(ANN, 'resp_4')).toEqual(kept(4))
  }
  expect(warn.mock.calls.flat().join()).toContain(join(path, 'conv_f.json'))
})

test('a folder holds the last of what was written at once', async () => {
  const path = join(folder, 'at once')
  const first = folderResponses(path)
  const numbers = Array.from({ length: 40 }, (_, i) => (i * 7) % 40)
  for (const n of numbers) await first.put(kept(n))
  await first.close!()
  const times = await Promise.all(
    numbers.map(async (n) => (await stat(join(path, `resp_${n.toString(16)}.json`))).mtimeMs),
  )
  expect(times.every((time, i) => i === 0 || time > times[i - 1]!)).toBe(true)
  const second = folderResponses(path, { maxResponses: 5 })
  const found = await Promise.all(numbers.map((n) => second.get(ANN, `resp_${n.toString(16)}`)))
  expect(found.map((one) => one !== undefined)).toEqual(numbers.map((_, i) => i >= 35))
})

test('only its user can read a folder and its files', async () => {
  const path = join(folder, 'private')
  await mkdir(path)
  await chmod(path, 0o755)
  await folderResponses(path).put(kept(1))
  const modeOf = async (file: string) => (await stat(file)).mode & 0o777
  expect(await modeOf(path)).toBe(0o700)
  expect(await modeOf(join(path, 'resp_1.json'))).toBe(0o600)
})

test('a folder keeps no remains of what could not be written, now or by an earlier process', async () => {
  const path = join(folder, 'unfinished')
  await mkdir(path)
  await writeFile(join(path, 'resp_2.json.new'), '{"hal')
  const store = folderResponses(path)
  await store.put(kept(3))
  // A file cannot be renamed to where a folder is.
  await mkdir(join(path, 'resp_4.json'))
  await expect(store.put(kept(4))).rejects.toThrow()
  expect(await readdir(path)).toEqual(['resp_3.json', 'resp_4.json'])
})

test('a folder takes nothing for as long as its claim is refused', async () => {
  const path = join(folder, 'claimed')
  let refused = false
  const store = claimedResponses(path, async () => {
    if (refused) throw new Error('used by another')
  })
  await store.put(kept(1))
  refused = true
  await expect(store.put(kept(2))).rejects.toThrow('used by another')
  expect(await readdir(path)).toEqual(['resp_1.json'])
  // It has it all the same, as from a folder that is full.
  expect(await store.get(ANN, 'resp_2')).toEqual(kept(2))
})

describe('a shelf that takes nothing more', () => {
  const full = (): Shelf => ({
    async *open() {},
    read: async () => undefined,
    write: () => Promise.reject(Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })),
    remove: async () => {},
    close: async () => {},
  })

  test('leaves a response in memory, within its bounds', async () => {
    const store = shelvedResponses(full(), { maxResponses: 2 })
    for (const n of [1, 2, 3]) await expect(store.put(kept(n))).rejects.toThrow('no space left')
    expect(await store.get(ANN, 'resp_1')).toBeUndefined()
    expect(await store.get(ANN, 'resp_3')).toEqual(kept(3))
    expect(await itemOf(store, 'msg_3')).toBeDefined()
    expect(await store.delete(ANN, 'resp_3')).toBe(true)
    expect(await store.get(ANN, 'resp_3')).toBeUndefined()
  })

  test('leaves a conversation there as well, unless it is to be kept or not at all', async () => {
    const { conversations } = shelvedResponses(full())
    const conversation = { id: 'conv_1', object: 'conversation', created_at: now, metadata: {} } as const
    const talk: KeptConversation = { caller: 'ann', conversation, items: [], changedAt: now }
    await expect(conversations!.put(talk, 'or not at all')).rejects.toThrow('no space left')
    expect(await conversations!.get(ANN, 'conv_1')).toBeUndefined()
    await expect(conversations!.put(talk)).rejects.toThrow('no space left')
    expect(await conversations!.get(ANN, 'conv_1')).toEqual(talk)
  })

  test('reads a response once, however many of its items are asked for', async () => {
    let reads = 0
    const texts = new Map<string, string>()
    const store = shelvedResponses({
      ...full(),
      read: async (id) => {
        reads++
        return texts.get(id)
      },
      write: async (id, text) => void texts.set(id, text),
    })
    const many = kept(1)
    const input = Array.from({ length: 3000 }, (_, i) => ({ ...many.input[0]!, id: `msg_in_${i}` }))
    await store.put({ ...many, input })
    const found = await store.items(
      ANN,
      input.map(({ id }) => id),
    )
    expect([found.size, reads]).toEqual([3000, 1])
  })
})

describe('a shelf', () => {
  /** One in memory that an earlier process may have left something on; notes what is removed. */
  function shelf(earlier: readonly string[] = [], part: Partial<Shelf> = {}) {
    const texts = new Map<string, string>()
    const removed: string[] = []
    const on: Shelf = {
      async *open() {
        yield* earlier
      },
      read: async (id) => texts.get(id) ?? earlier.find((text) => text.includes(`"${id}"`)),
      write: async (id, text) => void texts.set(id, text),
      async remove(id) {
        removed.push(id)
        texts.delete(id)
      },
      close: async () => {},
      ...part,
    }
    return { on, texts, removed }
  }
  const talk = (): KeptConversation => ({
    caller: 'ann',
    conversation: { id: 'conv_1', object: 'conversation', created_at: now, metadata: {} },
    items: kept(1).input,
    changedAt: now,
  })

  test('may be shared: what another store put there since is found, by its owner alone', async () => {
    const { on } = shelf()
    const [tab, serviceWorker] = [shelvedResponses(on), shelvedResponses(on)]
    expect(await serviceWorker.get(ANN, 'resp_1')).toBeUndefined()
    await tab.put(kept(1))
    await tab.conversations!.put(talk())
    expect(await serviceWorker.get(BOB, 'resp_1')).toBeUndefined()
    expect(await serviceWorker.get(ANN, 'resp_1')).toEqual(kept(1))
    expect(await serviceWorker.conversations!.get(ANN, 'conv_1')).toEqual(talk())
  })

  test('is asked for nothing but what is called as ids are', async () => {
    const asked: string[] = []
    const { on } = shelf([], {
      async read(id) {
        asked.push(id)
        return undefined
      },
    })
    const store = shelvedResponses(on)
    for (const id of ['../resp_1', 'resp_1/../resp_2', 'resp_', 'other_1', 'resp_1', 'conv_12ab']) {
      expect(await store.get(ANN, id)).toBeUndefined()
    }
    expect(asked).toEqual(['resp_1', 'conv_12ab'])
  })

  test('may have something else under a name, which is passed over and not counted', async () => {
    const { on, removed } = shelf([], { read: async () => JSON.stringify(kept(2)) })
    const store = shelvedResponses(on, { maxResponses: 1 })
    await store.put(kept(3))
    expect(await store.get(ANN, 'resp_1')).toBeUndefined()
    await store.put(kept(4))
    expect(removed).toEqual(['resp_3'])
  })

  test('lets go of a response that has an item twice', async () => {
    const store = shelvedResponses(shelf().on)
    const [item] = kept(1).input
    await store.put({ ...kept(1), input: [item!, item!] })
    expect(await itemOf(store, item!.id)).toBeDefined()
    expect(await store.delete(ANN, 'resp_1')).toBe(true)
    expect(await itemOf(store, item!.id)).toBeUndefined()
  })

  test('may hold what another program put there, which is passed over', async () => {
    const one = kept(1)
    const odd = {
      'no caller': { ...one, caller: undefined },
      'a caller that is no text': { ...one, caller: 5 },
      'a project that is no text': { ...one, project: 5 },
      'no id': { ...one, response: { ...one.response, id: 7 } },
      'no time': { ...one, response: { ...one.response, created_at: 'now' } },
      'an input that is no list': { ...one, input: 'abc' },
      'an output that is no list': { ...one, response: { ...one.response, output: 'abc' } },
      'items that are no list': { ...talk(), items: 'abc' },
      nothing: null,
    }
    for (const [what, kind] of Object.entries(odd)) {
      const { on, removed } = shelf([JSON.stringify(kind), JSON.stringify(kept(2))])
      const store = shelvedResponses(on, { maxResponses: 1 })
      const { caller = 'ann', project } = (kind ?? {}) as Partial<Owner>
      const owner = { caller, ...(project !== undefined && { project }) }
      for (const id of ['resp_1', 7 as never]) expect(await store.get(owner, id), what).toBeUndefined()
      expect(await store.conversations!.get(owner, 'conv_1'), what).toBeUndefined()
      expect(await store.get(ANN, 'resp_2'), what).toEqual(kept(2))
      // It is not counted, and stays where it was put.
      expect(removed, what).toEqual([])
    }
  })

  test('that cannot be looked through is tried again, and what it lost is not there', async () => {
    let tries = 0
    const { on, texts } = shelf([], {
      async *open() {
        if (tries++ === 0) throw new Error('no such folder')
        yield* []
      },
    })
    const store = shelvedResponses(on)
    await expect(store.get(ANN, 'resp_1')).rejects.toThrow('no such folder')
    await store.put(kept(1))
    expect(await store.get(ANN, 'resp_1')).toEqual(kept(1))
    texts.clear()
    expect(await store.get(ANN, 'resp_1')).toBeUndefined()
    expect(await itemOf(store, 'msg_1')).toBeUndefined()
  })

  test('that cannot be looked through leaves a response in memory, which is newer than what is found there later', async () => {
    const earlier = [{ ...kept(1), input: [] }, kept(2)].map((each) => JSON.stringify(each))
    let there = false
    const { on } = shelf(earlier, {
      async *open() {
        if (!there) throw new Error('no such folder')
        yield* earlier
      },
    })
    const store = shelvedResponses(on)
    for (const n of [1, 3]) await expect(store.put(kept(n))).rejects.toThrow('no such folder')
    expect(await store.get(ANN, 'resp_1')).toEqual(kept(1))
    expect(await store.delete(ANN, 'resp_3')).toBe(true)
    there = true
    expect(await itemOf(store, 'msg_2')).toBeDefined()
    expect(await store.get(ANN, 'resp_1')).toEqual(kept(1))
  })

  test('of an earlier process that has more than it may is cut to that at once', async () => {
    const project = { caller: 'ann', project: 'team/x' }
    const left = [kept(1), kept(2), { ...kept(3), ...project }]
    const { on, removed } = shelf(left.map((each) => JSON.stringify(each)))
    const store = shelvedResponses(on, { maxResponses: 2 })
    expect(await store.get(project, 'resp_3')).toEqual(left[2])
    expect(removed).toEqual(['resp_1'])
  })

  test('of an earlier process lets go of what is deleted, of a conversation too', async () => {
    const { on, removed } = shelf([JSON.stringify(kept(1)), JSON.stringify(talk())])
    const store = shelvedResponses(on)
    expect(await store.delete(ANN, 'resp_1')).toBe(true)
    expect(await store.conversations!.delete(ANN, 'conv_1')).toBe(true)
    expect(await store.conversations!.delete(ANN, 'conv_1')).toBe(false)
    expect(removed).toEqual(['resp_1', 'conv_1'])
  })

  test('that lets go of nothing says so, but of what it never had', async () => {
    const stuck = () => Promise.reject(new Error('busy'))
    const store = shelvedResponses(shelf([JSON.stringify(kept(1))], { remove: stuck }).on)
    await expect(store.delete(ANN, 'resp_1')).rejects.toThrow('busy')
    const full = shelvedResponses(shelf([], { remove: stuck, write: stuck }).on)
    await expect(full.put(kept(2))).rejects.toThrow('busy')
    expect(await full.delete(ANN, 'resp_2')).toBe(true)
  })

  test('is closed once it has been looked through', async () => {
    const seen: string[] = []
    const { on } = shelf([], {
      async *open() {
        await new Promise((resolve) => setTimeout(resolve))
        seen.push('looked through')
        yield* []
      },
      close: async () => void seen.push('closed'),
    })
    const store = shelvedResponses(on)
    const got = store.get(ANN, 'resp_1')
    await store.close!()
    await got
    expect(seen).toEqual(['looked through', 'closed'])
  })

  const year = 365 * 86_400_000
  /** The clock, which may be set, and the one that nobody sets. */
  function clocks() {
    vi.useFakeTimers({ toFake: ['Date', 'performance'], now: now * 1000 })
    onTestFinished(() => void vi.useRealTimers())
    return { pass: (ms: number) => vi.advanceTimersByTime(ms), set: (ms: number) => vi.setSystemTime(Date.now() + ms) }
  }

  test.each([
    ['an hour', 7200, 3_600_000],
    ['as long as it may be kept, if that is less', 100, 100_000],
  ])('is rid of what has been too old for %s, and looks for it once a minute', async (_, maxAge, sure) => {
    const { pass } = clocks()
    const { on, removed } = shelf()
    const store = shelvedResponses(on, { maxAge })
    await store.put(kept(1, 'ann', maxAge - 59))
    pass(59_999)
    await store.put(kept(2, 'ann', -sure))
    pass(1)
    await store.put(kept(3, 'ann', -sure))
    pass(sure - 1)
    await store.put(kept(4, 'ann', -sure))
    expect(removed).toEqual([])
    pass(60_000)
    await store.put(kept(5, 'ann', -sure))
    expect(removed).toEqual(['resp_1'])
  })

  test('keeps what a clock that was far ahead for less made too old, and does not give it out in between', async () => {
    const { pass, set } = clocks()
    const { on, removed } = shelf()
    const store = shelvedResponses(on)
    await store.put(kept(1))
    for (let n = 2; n < 5; n++) {
      set(year)
      await store.put(kept(n))
      pass(3_599_000)
      await store.put(kept(n))
      expect(await store.get(ANN, 'resp_1')).toBeUndefined()
      set(-year)
      await store.put(kept(n))
      expect(await store.get(ANN, 'resp_1')).toEqual(kept(1))
    }
    expect(removed).toEqual([])
  })

  test('is rid of what is too old when it is opened, unless all of it is: the clock may be ahead', async () => {
    const { set } = clocks()
    const all = [kept(1, 'ann', 7200), kept(2)].map((each) => JSON.stringify(each))
    const opened = async () => {
      const { on, removed } = shelf(all)
      expect(await shelvedResponses(on, { maxAge: 3600 }).get(ANN, 'resp_1')).toBeUndefined()
      return removed
    }
    expect(await opened()).toEqual(['resp_1'])
    set(year)
    expect(await opened()).toEqual([])
  })

  test('is rid of what is too old after the clock was set back, too', async () => {
    const { pass, set } = clocks()
    const { on, removed } = shelf()
    const store = shelvedResponses(on, { maxAge: 100 })
    set(year)
    await store.put(kept(1))
    set(-year)
    await store.put(kept(2, 'ann', 101))
    await store.put(kept(3))
    pass(100_000)
    await store.put(kept(4))
    expect(removed).toContain('resp_2')
  })

  test('gives out what is just as old as it may be', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: now * 1000 })
    onTestFinished(() => void vi.useRealTimers())
    const store = shelvedResponses(shelf().on, { maxAge: 100 })
    for (const n of [1, 2]) await store.put(kept(n, 'ann', 99 + n))
    expect(await store.get(ANN, 'resp_1')).toBeDefined()
    expect(await store.get(ANN, 'resp_2')).toBeUndefined()
  })

  test('holds just as many bytes as it may', async () => {
    const size = JSON.stringify(kept(1)).length
    const { on, texts } = shelf()
    const store = shelvedResponses(on, { maxBytes: 2 * size })
    for (const n of [1, 2]) await store.put(kept(n))
    expect(texts.size).toBe(2)
    const whole = shelvedResponses(shelf().on, { maxBytes: size })
    await whole.put(kept(1))
    expect(await whole.get(ANN, 'resp_1')).toBeDefined()
  })

  test('knows an item in the response that had it last', async () => {
    const store = shelvedResponses(shelf().on)
    await store.put(kept(1))
    await store.put({ ...kept(2), input: kept(1).input })
    expect(await store.delete(ANN, 'resp_1')).toBe(true)
    expect(await itemOf(store, 'msg_in_1')).toEqual(kept(1).input[0])
  })

  test('lets go of a response all of whose items another one took along', async () => {
    const store = shelvedResponses(shelf().on)
    await store.put(kept(1))
    await store.put({ ...kept(1), response: { ...kept(1).response, id: 'resp_2' } })
    expect([await store.delete(ANN, 'resp_2'), await store.delete(ANN, 'resp_1')]).toEqual([true, true])
  })

  const long = (n: number): KeptResponse => {
    const [item] = kept(n).input as [MessageItem]
    const content = Array.from({ length: 30 }, () => ({ type: 'input_text' as const, text: 'word '.repeat(20_000) }))
    return { ...kept(n), input: [{ ...item, content }] }
  }

  test('of megabytes no turn of the event loop writes more than a piece', async () => {
    const spelled = vi.spyOn(JSON, 'stringify')
    onTestFinished(() => void spelled.mockRestore())
    const response = long(1)
    const lengths: number[] = []
    const store = shelvedResponses(shelf().on)
    let over = false
    void store.put(response).then(() => {
      over = true
    })
    while (!over) {
      await breathe()
      lengths.push(spelled.mock.results.reduce((sum, { value }) => sum + String(value).length, 0))
      spelled.mockClear()
    }
    expect(lengths.reduce((sum, length) => sum + length, 0)).toBeGreaterThan(30 * 100_000)
    for (const length of lengths) expect(length).toBeLessThan(300_000)
    expect(await store.get(ANN, 'resp_1')).toEqual(response)
  })

  test('of several that take long to read, each is read in a turn of its own', async () => {
    // However quick this machine is: who takes long waits for its turns anyway.
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const store = shelvedResponses(shelf().on)
    for (const n of [1, 2, 3, 4]) await store.put(long(n))
    const read = vi.spyOn(JSON, 'parse')
    onTestFinished(() => void read.mockRestore())
    const got = Promise.all([1, 2, 3, 4].map((n) => store.get(ANN, `resp_${n}`)))
    let most = 0
    for (let seen = 0; seen < 4; ) {
      await breathe()
      most = Math.max(most, read.mock.calls.length - seen)
      seen = read.mock.calls.length
    }
    expect(most).toBe(1)
    expect((await got).map((each) => each?.response.id)).toEqual(['resp_1', 'resp_2', 'resp_3', 'resp_4'])
  })
})
