import { describe, expect, test, vi } from 'vitest'
import type { ChatCall } from '../../../contract/engine.js'
import { errorOf, finish, jsonOf, KEY, MODEL, posting, recorded, serviceOf, text } from '../../v1.test-helper.js'
import { shortener } from './conversation.js'
import { memoryResponses, shelvedResponses } from './store/shelved.js'
import type { ResponseStore } from './store/store.js'

function keeping(script: Parameters<typeof serviceOf>[0], options: Parameters<typeof serviceOf>[1] = {}) {
  const { ask } = serviceOf(script, { responses: memoryResponses(), ...options })
  const post = (body: object, headers: Record<string, string> = {}) =>
    ask('/responses', posting({ input: 'Hi', ...body }, headers))
  const create = async (body: object = {}, headers: Record<string, string> = {}) => {
    const answer = await post(body, headers)
    expect(answer.status, answer.text).toBe(200)
    return jsonOf(answer)
  }
  return { ask, post, create }
}

/** Counts what is read, before it is. */
function counted(store: ResponseStore) {
  const reads = { responses: 0, items: 0 }
  const counting: ResponseStore = {
    put: (kept) => store.put(kept),
    delete: (owner, id) => store.delete(owner, id),
    get: (owner, id) => {
      reads.responses++
      return store.get(owner, id)
    },
    items: (owner, ids) => {
      reads.items++
      return store.items(owner, ids)
    },
  }
  return { reads, counting }
}

describe('what a request refers to', () => {
  test('is read when the request has its place, and not before', async () => {
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const { reads, counting } = counted(memoryResponses())
    const script = async function* ({ messages }: ChatCall) {
      if (JSON.stringify(messages).includes('wait')) await held
      yield* [text('Done.'), finish()]
    }
    const { post, create } = keeping(script, { responses: counting, maxInFlight: 1 })
    const { id, output } = await create()
    const long = post({ input: 'wait' })
    const others = [
      post({ previous_response_id: id }),
      post({
        input: [
          { role: 'user', content: 'And?' },
          { type: 'item_reference', id: output[0].id },
        ],
      }),
    ]
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(reads).toEqual({ responses: 0, items: 0 })
    release()
    for (const { status } of await Promise.all([long, ...others])) expect(status).toBe(200)
    expect(reads).toEqual({ responses: 1, items: 1 })
  })

  test('is fetched all at once, however many references there are, in their order', async () => {
    const { reads, counting } = counted(memoryResponses())
    const { calls, script } = recorded('Done.')
    const { create } = keeping(script, { responses: counting })
    const items = Array.from({ length: 3000 }, (_, i) => ({ id: `msg_${i}`, role: 'user', content: `${i}` }))
    await create({ input: items })
    const references = items.map(({ id }) => ({ type: 'item_reference', id })).reverse()
    await create({ input: references })
    expect(reads).toEqual({ responses: 0, items: 1 })
    expect(calls[1]!.messages).toEqual([...calls[0]!.messages].reverse())
  })

  test('counts like its caller’s bodies', async () => {
    const { post, create } = keeping('Done.', { bodyLimit: 2 ** 16, bodiesLimit: 190_000 })
    let previous: string | undefined
    for (let turn = 0; turn < 3; turn++) {
      previous = (await create({ input: 'x'.repeat(60_000), ...(previous && { previous_response_id: previous }) })).id
    }
    const answer = await post({ input: 'x'.repeat(20_000), previous_response_id: previous })
    expect(answer.status).toBe(503)
    expect(errorOf(answer)).toMatchObject({ code: 'too_many_bodies' })
    // Nothing of it is held any more.
    await create({ input: 'x'.repeat(60_000) })
  })

  test('is held for nobody who leaves while it is read', async () => {
    const store = memoryResponses()
    const client = { left: () => {} }
    const slow: ResponseStore = {
      put: (kept) => store.put(kept),
      delete: (owner, id) => store.delete(owner, id),
      items: (owner, ids) => store.items(owner, ids),
      get: async (owner, id) => {
        const kept = await store.get(owner, id)
        client.left()
        return kept
      },
    }
    const { ask, create } = keeping('Done.', { responses: slow, bodyLimit: 2 ** 16, bodiesLimit: 2 ** 16 })
    const first = await create({ input: 'x'.repeat(20_000) })
    const { id } = await create({ input: 'x'.repeat(20_000), previous_response_id: first.id })
    // At the first of its turns, and at the second.
    for (const after of [1, 2, 1, 2, 1, 2, 1, 2]) {
      const leaving = new AbortController()
      let reads = 0
      client.left = () => {
        if (++reads === after) leaving.abort()
      }
      await ask('/responses', {
        method: 'POST',
        body: JSON.stringify({ model: MODEL, input: 'Hi', previous_response_id: id }),
        headers: { 'content-type': 'application/json' },
        signal: leaving.signal,
      })
      expect(reads).toBe(after)
    }
    client.left = () => {}
    await create({ input: 'x'.repeat(60_000) })
    await create({ previous_response_id: id })
  })

  test('is listed from its end without all that came before it', async () => {
    const { reads, counting } = counted(memoryResponses())
    const { ask, create } = keeping('Done.', { responses: counting })
    let id: string | undefined
    for (let turn = 0; turn < 10; turn++) {
      id = (await create({ input: `Turn ${turn}`, ...(id && { previous_response_id: id }) })).id
    }
    const list = async (query: string) => {
      reads.responses = 0
      const { data, has_more } = jsonOf(await ask(`/responses/${id}/input_items?${query}`))
      const texts = data.map((item: { content: { text: string }[] }) => item.content[0]!.text)
      return { texts, has_more, reads: reads.responses }
    }
    expect(await list('limit=2')).toEqual({ texts: ['Turn 9', 'Done.'], has_more: true, reads: 2 })
    expect(await list('limit=2&order=asc')).toEqual({ texts: ['Turn 0', 'Done.'], has_more: true, reads: 10 })
  })
})

test('of a conversation of far too many turns no more are tried than could fit', () => {
  const turns = Array.from({ length: 20_000 }, () => ({ role: 'user' as const, content: 'x' }))
  const shortened = shortener(() => 100)
  let messages = shortened([{ role: 'system', content: 'Be brief.' }, ...turns])
  const lengths: number[] = []
  for (; messages; messages = shortened(messages)) lengths.push(messages.length)
  expect(lengths[0]).toBe(101)
  expect(lengths.length).toBeLessThan(10)
})

describe('a kept conversation of many megabytes', () => {
  const long = 'x'.repeat(2 ** 20 - 1000)
  const filled = async (contextLength: number) => {
    const calls: ChatCall[] = []
    const kept = keeping({
      models: [{ id: MODEL, ownedBy: 'test', contextLength }],
      async *generate(call) {
        calls.push(call)
        yield text('Done.')
        yield finish()
      },
    })
    let id: string | undefined
    for (let turn = 0; turn < 8; turn++) {
      id = (await kept.create({ input: `${turn}${long}`, ...(id && { previous_response_id: id }) })).id
    }
    return { ...kept, calls, id: id! }
  }

  test('is listed in pages of a few megabytes, all of it', async () => {
    const { ask, id } = await filled(2 ** 20)
    for (const order of ['asc', 'desc']) {
      const seen: string[] = []
      for (let after = '', more = true; more; ) {
        const answer = await ask(`/responses/${id}/input_items?order=${order}&limit=100${after}`)
        expect(answer.text.length).toBeLessThan(5 * 2 ** 20)
        const body = jsonOf(answer)
        expect(body.data.length).toBeGreaterThan(0)
        for (const { content } of body.data) seen.push(content[0].text.slice(0, 1))
        more = body.has_more
        after = `&after=${body.last_id}`
      }
      expect(seen.filter((one) => one !== 'D').join('')).toBe(order === 'asc' ? '01234567' : '76543210')
      expect(seen.filter((one) => one === 'D')).toHaveLength(7)
    }
  })

  test('is not sent to a model that cannot read so much, where it may be cut', async () => {
    const { create, calls, id } = await filled(1024)
    calls.length = 0
    await create({ input: 'And?', previous_response_id: id, truncation: 'auto', instructions: 'Be brief.' })
    expect(calls.map(({ messages }) => messages.map(({ role, content }) => [role, content]))).toEqual([
      [
        ['system', 'Be brief.'],
        ['user', 'And?'],
      ],
    ])
    await create({ input: 'And?', previous_response_id: id })
    expect(calls[1]!.messages).toHaveLength(17)
  })
})

describe('projects of one key', () => {
  const one = { 'openai-project': 'team/one' }
  const two = { 'openai-project': 'team/two' }

  test.each([true, false])('are kept apart if the key says so: %s', async (projectsApart) => {
    const { ask, post, create } = keeping('Done.', { keys: [{ key: KEY, id: 'ann', projectsApart }] })
    const { id, output } = await create({}, one)
    const status = projectsApart ? 404 : 200
    expect((await ask(`/responses/${id}`, { headers: two })).status).toBe(status)
    expect((await ask(`/responses/${id}`)).status).toBe(status)
    expect((await ask(`/responses/${id}`, { headers: one })).status).toBe(200)
    const reference = { input: [{ type: 'item_reference', id: output[0].id }] }
    expect((await post(reference, two)).status).toBe(projectsApart ? 400 : 200)
    expect((await post({ previous_response_id: id }, two)).status).toBe(projectsApart ? 400 : 200)
    expect((await post({ previous_response_id: id }, one)).status).toBe(200)
  })

  test('have their own in the background too', async () => {
    const endless = async function* ({ signal }: ChatCall) {
      while (!signal.aborted) {
        yield text('.')
        await new Promise((resolve) => setTimeout(resolve, 1))
      }
    }
    const { ask, create } = keeping(endless, { keys: [{ key: KEY, id: 'ann', projectsApart: true }] })
    const { id } = await create({ background: true }, one)
    const cancel = (headers: Record<string, string>) => ask(`/responses/${id}/cancel`, { method: 'POST', headers })
    expect((await cancel(two)).status).toBe(404)
    expect(jsonOf(await cancel(one)).status).toBe('cancelled')
  })
})

test('a response whose caller has left in its midst was cancelled, which is no fault', async () => {
  const leaving = new AbortController()
  const endless = async function* ({ signal }: ChatCall) {
    yield text('So')
    leaving.abort()
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  }
  const responses = memoryResponses()
  const put = vi.spyOn(responses, 'put')
  const { ask } = keeping(endless, { responses })
  await ask('/responses', { ...posting({ input: 'Hi', stream: true }), signal: leaving.signal }).catch(() => {})
  await vi.waitFor(() => expect(put).toHaveBeenCalledOnce())
  expect(put.mock.calls[0]![0].response).toMatchObject({
    status: 'cancelled',
    error: null,
    usage: { output_tokens: 1 },
  })
})

test('many responses of one caller in the background push out none of another', async () => {
  const keys = [
    { key: KEY, id: 'ann' },
    { key: 'sk-bob', id: 'bob' },
  ]
  const { ask, create } = keeping('Done.', { keys, responses: memoryResponses({ maxResponses: 20 }) })
  const { id } = await create()
  const bob = { authorization: 'Bearer sk-bob' }
  for (let i = 0; i < 5; i++) {
    await Promise.all(Array.from({ length: 10 }, () => create({ background: true }, bob)))
  }
  expect((await ask(`/responses/${id}`)).status).toBe(200)
})

describe('where nothing more can be kept', () => {
  const full = () => Promise.reject(Object.assign(new Error('no space left on device'), { code: 'ENOSPC' }))
  const shelf = { async *open() {}, read: async () => undefined, write: full, remove: full, close: async () => {} }
  const refusing: ResponseStore = {
    put: full,
    get: async () => undefined,
    items: async () => new Map(),
    delete: async () => false,
  }
  /** Says a word, and the rest once it is told to. */
  function slow() {
    let goOn = () => {}
    const resumed = new Promise<void>((resolve) => {
      goOn = resolve
    })
    const script = async function* ({ signal }: ChatCall) {
      yield text('Half')
      await Promise.race([resumed, new Promise((resolve) => signal.addEventListener('abort', resolve))])
      signal.throwIfAborted()
      yield* [text(' done.'), finish()]
    }
    return { script, goOn }
  }

  test.each([
    ['a full disk', () => shelvedResponses(shelf)],
    ['a store that fails', () => refusing],
  ])('on %s the finished answer is returned, and the failure is logged', async (_, store) => {
    const faults: unknown[] = []
    const log = (entry: { type: string }) => void (entry.type === 'fault' && faults.push(entry))
    const { post, create } = keeping('Done.', { responses: store(), log })
    expect(await create()).toMatchObject({ status: 'completed', output: [{ content: [{ text: 'Done.' }] }] })
    const streamed = await post({ stream: true })
    expect(streamed.text).toContain('response.completed')
    expect(streamed.text).toMatch(/data: \[DONE\]\n\n$/)
    expect(faults).toHaveLength(2)
  })

  test('one in the background is found as long as the process lives, followed and deleted', async () => {
    const { script, goOn } = slow()
    const { ask, create } = keeping(script, { responses: shelvedResponses(shelf) })
    const { id } = await create({ background: true })
    const followed = ask(`/responses/${id}?stream=true`)
    goOn()
    expect((await followed).text).toMatch(/data: \[DONE\]\n\n$/)
    expect(jsonOf(await ask(`/responses/${id}`))).toMatchObject({ status: 'completed' })
    expect(jsonOf(await ask(`/responses/${id}`, { method: 'DELETE' }))).toMatchObject({ deleted: true })
    expect((await ask(`/responses/${id}`)).status).toBe(404)
  })

  test.each([
    ['a full disk', () => shelvedResponses(shelf)],
    ['a store that fails', () => refusing],
  ])('cancelling is answered, and so is deleting a running response: %s', async (_, store) => {
    const { ask, create } = keeping(slow().script, { responses: store() })
    const { id } = await create({ background: true })
    expect(jsonOf(await ask(`/responses/${id}/cancel`, { method: 'POST' }))).toMatchObject({ status: 'cancelled' })
    const other = (await create({ background: true })).id
    expect([200, 404]).toContain((await ask(`/responses/${other}`, { method: 'DELETE' })).status)
    expect((await ask(`/responses/${other}`)).status).toBe(404)
  })

  test('one that is part of a conversation is found as long as the process lives, and so is its turn', async () => {
    const texts = new Map<string, string>()
    const write = async (id: string, written: string) => void (texts.size > 0 ? await full() : texts.set(id, written))
    const filling = { ...shelf, write, read: async (id: string) => texts.get(id) }
    const { ask, post, create } = keeping('Done.', { responses: shelvedResponses(filling) })
    const made = await ask('/conversations', {
      method: 'POST',
      body: '{}',
      headers: { 'content-type': 'application/json' },
    })
    const conversation = jsonOf(made).id
    const { id } = await create({ conversation })
    expect(jsonOf(await ask(`/responses/${id}`))).toMatchObject({ status: 'completed' })
    expect(jsonOf(await ask(`/conversations/${conversation}/items`)).data).toHaveLength(2)
    expect((await post({ conversation })).status).toBe(200)
  })

  test.each([
    ['GET', 'store_not_read'],
    ['DELETE', 'store_not_written'],
  ])('%s says so, and what to do', async (method, code) => {
    const unreadable = { ...refusing, get: full, items: full, delete: full }
    const { ask, post } = keeping('Done.', { responses: unreadable })
    const refusal = await ask('/responses/resp_1', { method })
    expect(errorOf(refusal)).toMatchObject({ status: 507, type: 'server_error', code })
    expect(refusal.text).not.toContain('no space left')
    expect(refusal.headers.get('x-should-retry')).toBe('false')
    expect(errorOf(await post({ previous_response_id: 'resp_1' }))).toMatchObject({ code: 'store_not_read' })
  })
})
