import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ResponseResource } from '../wire/responses/resource.js'
import { folderResponses } from './folder.js'
import { memoryResponses } from './memory.js'
import type { KeptResponse, ResponseBounds, ResponseStore } from './store.js'

const now = () => Math.floor(Date.now() / 1000)

function kept(n: number, caller = 'ann', age = 0): KeptResponse {
  const text = `Answer ${n}`
  const item = { type: 'message', id: `msg_${n}`, status: 'completed', role: 'assistant' } as const
  return {
    caller,
    response: {
      id: `resp_${n.toString(16)}`,
      created_at: now() - age,
      output: [{ ...item, content: [{ type: 'output_text', text, annotations: [], logprobs: [] }] }],
    } as unknown as ResponseResource,
    input: [{ ...item, id: `msg_in_${n}`, role: 'user', content: [{ type: 'input_text', text: `Question ${n}` }] }],
  }
}

let folder: string
let count = 0
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'local-v1-responses-'))
})
afterAll(() => rm(folder, { recursive: true }))

const STORES: Record<string, (bounds?: ResponseBounds) => ResponseStore> = {
  'in memory': (bounds) => memoryResponses(bounds),
  'in a folder': (bounds) => folderResponses(join(folder, `${count++}`), bounds),
}

describe.each(Object.entries(STORES))('%s', (_, open) => {
  test('a response and its items are found again, by its caller alone', async () => {
    const store = open()
    await store.put(kept(1))
    expect(await store.get('ann', 'resp_1')).toEqual(kept(1))
    expect(await store.item('ann', 'msg_1')).toEqual(kept(1).response.output[0])
    expect(await store.item('ann', 'msg_in_1')).toEqual(kept(1).input[0])
    expect(await store.get('bob', 'resp_1')).toBeUndefined()
    expect(await store.item('bob', 'msg_1')).toBeUndefined()
    expect(await store.delete('bob', 'resp_1')).toBe(false)
    expect(await store.get('ann', '../resp_1')).toBeUndefined()
    expect(await store.get('ann', '__proto__')).toBeUndefined()
  })

  test('what is deleted is gone', async () => {
    const store = open()
    await store.put(kept(1))
    expect(await store.delete('ann', 'resp_1')).toBe(true)
    expect(await store.delete('ann', 'resp_1')).toBe(false)
    expect(await store.get('ann', 'resp_1')).toBeUndefined()
    expect(await store.item('ann', 'msg_1')).toBeUndefined()
  })

  test('of too many the one unused for longest goes first', async () => {
    const store = open({ maxResponses: 2 })
    await store.put(kept(1))
    await store.put(kept(2))
    await store.get('ann', 'resp_1')
    await store.put(kept(3))
    expect(await store.get('ann', 'resp_2')).toBeUndefined()
    expect(await store.get('ann', 'resp_1')).toBeDefined()
    expect(await store.get('ann', 'resp_3')).toBeDefined()
  })

  test('bytes are bounded, and one that can never fit pushes nobody out', async () => {
    const size = JSON.stringify(kept(1)).length
    const store = open({ maxBytes: 2 * size + 10 })
    for (const n of [1, 2, 3]) await store.put(kept(n))
    expect(await store.get('ann', 'resp_1')).toBeUndefined()
    const long = kept(4)
    await store.put({ ...long, input: [{ ...long.input[0]!, id: 'x'.repeat(3 * size) }] })
    expect(await store.get('ann', 'resp_4')).toBeUndefined()
    expect(await store.get('ann', 'resp_2')).toBeDefined()
    expect(await store.get('ann', 'resp_3')).toBeDefined()
  })

  test('letters of several bytes count as so many', async () => {
    const wide = (n: number) => ({ ...kept(n), input: [{ ...kept(n).input[0]!, id: `${n}${'€'.repeat(1000)}` }] })
    const store = open({ maxBytes: 3500 + JSON.stringify(kept(1)).length })
    for (const n of [1, 2]) await store.put(wide(n))
    expect(await store.get('ann', 'resp_1')).toBeUndefined()
    expect(await store.get('ann', 'resp_2')).toBeDefined()
  })

  test('what is too old is not given out', async () => {
    const store = open({ maxAge: 100 })
    await store.put(kept(1, 'ann', 101))
    await store.put(kept(2, 'ann', 50))
    expect(await store.get('ann', 'resp_1')).toBeUndefined()
    expect(await store.get('ann', 'resp_2')).toBeDefined()
  })

  test('a response that is put again is the newer one, and counted once', async () => {
    const store = open({ maxResponses: 1 })
    await store.put(kept(1))
    const later = { ...kept(1), input: [] }
    await store.put(later)
    expect(await store.get('ann', 'resp_1')).toEqual(later)
    expect(await store.item('ann', 'msg_in_1')).toBeUndefined()
  })
})

test('a folder holds what an earlier process left there, and no more than its bounds', async () => {
  const path = join(folder, 'earlier')
  const first = folderResponses(path)
  for (const n of [1, 2, 3]) await first.put(kept(n))
  await first.close!()
  await writeFile(join(path, 'resp_f00.json'), '{"torn')
  const second = folderResponses(path, { maxResponses: 2 })
  expect(await second.get('ann', 'resp_3')).toEqual(kept(3))
  expect(await second.get('ann', 'resp_f00')).toBeUndefined()
  await second.put(kept(4))
  const names = (await readdir(path)).filter((name) => name !== 'resp_f00.json')
  expect(names).toHaveLength(2)
})
