import { describe, expect, test } from 'vitest'
import type { LogEvent } from '../../door/log.js'
import { errorOf, finish, jsonOf, MODEL, recorded, serviceOf, text } from '../../v1.test-helper.js'
import { memoryResponses, shelvedResponses } from '../responses/store/shelved.js'
import type { ResponseStore } from '../responses/store/store.js'

const user = (content: string) => ({ role: 'user', content })

function talking(options: Parameters<typeof serviceOf>[1] = {}, script?: Parameters<typeof serviceOf>[0]) {
  let answers = 0
  const { calls, script: answering } = recorded(() => `Answer ${++answers}.`)
  const { ask } = serviceOf(script ?? answering, options)
  const headers = { 'content-type': 'application/json' }
  const post = (path: string, body: object = {}, more: Record<string, string> = {}) =>
    ask(path, { method: 'POST', body: JSON.stringify(body), headers: { ...headers, ...more } })
  const begun = async (body: object = {}): Promise<string> => jsonOf(await post('/conversations', body)).id
  const respond = (conversation: unknown, body: object = {}) =>
    post('/responses', { model: MODEL, input: 'Hi', conversation, ...body })
  const textsOf = async (id: string): Promise<string[]> => {
    const { data } = jsonOf(await ask(`/conversations/${id}/items?order=asc&limit=100`))
    return data.map((item: { content: { text: string }[] }) => item.content[0]!.text)
  }
  return { ask, post, begun, respond, textsOf, calls }
}

describe('a conversation', () => {
  test('is made, found, changed and deleted', async () => {
    const { ask, post } = talking()
    const made = await post('/conversations', { metadata: { topic: 'tea' }, colour: 'red' })
    expect(made.headers.get('x-ignored-fields')).toBe('colour')
    const { id, created_at } = jsonOf(made)
    expect(id).toMatch(/^conv_[0-9a-f]{32}$/)
    const all = { id, object: 'conversation', created_at, metadata: { topic: 'tea' } }
    expect(jsonOf(made)).toEqual(all)
    expect(jsonOf(await ask(`/conversations/${id}`))).toEqual(all)
    expect(jsonOf(await post(`/conversations/${id}`, { metadata: { topic: 'rice' } }))).toEqual({
      ...all,
      metadata: { topic: 'rice' },
    })
    expect(jsonOf(await post(`/conversations/${id}`, { metadata: null }))).toEqual({ ...all, metadata: {} })
    const deleted = await ask(`/conversations/${id}`, { method: 'DELETE' })
    expect(jsonOf(deleted)).toEqual({ id, object: 'conversation.deleted', deleted: true })
    for (const method of ['GET', 'DELETE']) {
      expect(errorOf(await ask(`/conversations/${id}`, { method }))).toMatchObject({
        status: 404,
        code: 'conversation_not_found',
      })
    }
  })

  test('lists its items in pages, from either end', async () => {
    const { ask, post, begun } = talking()
    const id = await begun({ items: [user('0')] })
    const { data, ...list } = jsonOf(await post(`/conversations/${id}/items`, { items: [user('1'), user('2')] }))
    expect(list).toEqual({ object: 'list', first_id: data[0].id, last_id: data[1].id, has_more: false })
    const item = await ask(`/conversations/${id}/items/${data[0].id}`)
    expect(jsonOf(item)).toEqual(data[0])
    expect(jsonOf(item)).toMatchObject({ type: 'message', role: 'user', content: [{ type: 'input_text', text: '1' }] })
    for (const [order, expected] of [
      ['asc', ['0', '1', '2']],
      ['desc', ['2', '1', '0']],
    ] as const) {
      const seen: string[] = []
      for (let after = '', more = true; more; ) {
        const page = jsonOf(await ask(`/conversations/${id}/items?order=${order}&limit=2${after}`))
        seen.push(...page.data.map((each: { content: { text: string }[] }) => each.content[0]!.text))
        more = page.has_more
        after = `&after=${page.last_id}`
      }
      expect(seen).toEqual(expected)
    }
  })

  test('keeps tools that an item added for every turn, and so does its compaction', async () => {
    const { post, begun, respond, calls } = talking()
    const look = (description: string) => ({
      type: 'function',
      name: 'look',
      description,
      parameters: {},
      strict: false,
    })
    const added = (...tools: object[]) => ({ type: 'additional_tools', role: 'developer', tools })
    const id = await begun({ items: [added(look('Looks.'))] })
    await respond(id)
    await respond(id, { input: [added(look('Looks well.')), user('Hi')], tool_choice: 'required' })
    await respond(id, { tool_choice: { type: 'function', name: 'look' } })
    expect(calls.map(({ tools }) => tools.map(({ description }) => description))).toEqual([
      ...[['Looks.'], ['Looks well.'], ['Looks well.']],
    ])
    expect(calls.map(({ toolChoice }) => toolChoice)).toEqual(['auto', 'required', { name: 'look' }])
    const { output } = jsonOf(await post('/responses/compact', { model: MODEL, conversation: id }))
    await respond(undefined, { input: [...output, user('On')] })
    expect(calls.at(-1)!.tools).toMatchObject([{ description: 'Looks well.' }])
    const wrong = await post(`/conversations/${id}/items`, { items: [added({ ...look('No.'), name: 'a b' })] })
    expect(errorOf(wrong)).toMatchObject({ status: 400, param: 'items[0].tools[0].name' })
  })

  test('loses a deleted item, once', async () => {
    const { ask, begun, textsOf } = talking()
    const id = await begun({ items: [user('0'), user('1')] })
    const [first] = jsonOf(await ask(`/conversations/${id}/items?order=asc`)).data
    const path = `/conversations/${id}/items/${first.id}`
    expect(jsonOf(await ask(path, { method: 'DELETE' }))).toMatchObject({ id, object: 'conversation' })
    expect(await textsOf(id)).toEqual(['1'])
    for (const method of ['GET', 'DELETE']) {
      expect(errorOf(await ask(path, { method }))).toMatchObject({ status: 404, code: 'item_not_found' })
    }
  })

  test('gives every item an id of its own, and what a reference names in its place', async () => {
    const { post, begun, ask, respond, textsOf } = talking({ responses: memoryResponses() })
    const { output } = jsonOf(await respond(undefined))
    const twice = { ...user('so'), id: 'msg_mine' }
    const id = await begun({ items: [twice, twice] })
    await post(`/conversations/${id}/items`, { items: [twice, { type: 'item_reference', id: output[0].id }] })
    const { data } = jsonOf(await ask(`/conversations/${id}/items`))
    expect(new Set(data.map((item: { id: string }) => item.id)).size).toBe(4)
    expect(await textsOf(id)).toEqual(['so', 'so', 'so', 'Answer 1.'])
  })

  test('keeps all that is added at the same time', async () => {
    const { post, begun, textsOf } = talking()
    const id = await begun()
    const words = Array.from({ length: 20 }, (_, i) => `${i}`)
    await Promise.all(words.map((word) => post(`/conversations/${id}/items`, { items: [user(word)] })))
    expect((await textsOf(id)).sort()).toEqual(words.sort())
  })

  test('has a maximum size', async () => {
    const { post, begun, respond, textsOf, calls } = talking({ bodyLimit: 2 ** 23 })
    const long = user('x'.repeat(3 * 2 ** 20))
    const id = await begun({ items: [long] })
    const more = await post(`/conversations/${id}/items`, { items: [user('y'.repeat(2 ** 20))] })
    expect(errorOf(more)).toMatchObject({ status: 400, param: 'items', code: 'conversation_too_long' })
    const turn = await respond(id, { input: 'y'.repeat(2 ** 20) })
    expect(errorOf(turn)).toMatchObject({ status: 400, param: 'input', code: 'conversation_too_long' })
    const whole = await post('/conversations', { items: [long, long] })
    expect(errorOf(whole)).toMatchObject({ status: 400, param: 'items', code: 'conversation_too_long' })
    expect([calls.length, (await textsOf(id)).length]).toEqual([0, 1])
  })

  test('that an answer would make longer than all that is stored stays as it was, and the log says so', async () => {
    const logged: LogEvent[] = []
    const responses = memoryResponses({ maxBytes: 2000 })
    const options = { responses, log: (event: LogEvent) => void logged.push(event) }
    const { begun, respond, textsOf } = talking(options, 'x'.repeat(2000))
    const id = await begun({ items: [user('0')] })
    expect((await respond(id)).status).toBe(200)
    expect(await textsOf(id)).toEqual(['0'])
    expect(logged).toContainEqual({
      type: 'fault',
      message: expect.stringContaining('could not be stored'),
      error: expect.objectContaining({ code: 'conversation_too_long' }),
    })
  })

  test('that is longer than all that is stored is refused, and stays as it was', async () => {
    const { ask, post, begun, textsOf } = talking({ responses: memoryResponses({ maxBytes: 2000 }) })
    const id = await begun({ items: [user('0')] })
    const long = { items: [user('x'.repeat(2000))] }
    for (const path of ['/conversations', `/conversations/${id}/items`]) {
      expect(errorOf(await post(path, long))).toMatchObject({ status: 400, code: 'conversation_too_long' })
    }
    expect(await textsOf(id)).toEqual(['0'])
    expect((await ask(`/conversations/${id}`)).status).toBe(200)
  })

  test('belongs to its caller alone', async () => {
    const { ask, post, begun, respond } = talking({ keys: ['sk-test', 'sk-other'] })
    const other = { authorization: 'Bearer sk-other' }
    const id = await begun({ items: [{ ...user('secret'), id: 'msg_0' }] })
    const body = { items: [user('mine')], metadata: {} }
    for (const path of [`/conversations/${id}`, `/conversations/${id}/items`]) {
      expect((await post(path, body, other)).status).toBe(404)
      expect((await ask(path, { headers: other })).status).toBe(404)
    }
    for (const path of [`/conversations/${id}`, `/conversations/${id}/items/msg_0`]) {
      expect((await ask(path, { method: 'DELETE', headers: other })).status).toBe(404)
    }
    const answer = await post('/responses', { model: MODEL, input: 'Hi', conversation: id }, other)
    expect(errorOf(answer)).toMatchObject({ status: 404, param: 'conversation', code: 'conversation_not_found' })
    expect((await respond(id)).status).toBe(200)
  })

  test('is no response, and a response no conversation', async () => {
    const { ask, begun, respond } = talking({ responses: memoryResponses() })
    const id = await begun()
    const { id: response } = jsonOf(await respond(id))
    for (const path of [`/responses/${id}`, `/conversations/${response}`]) {
      for (const method of ['GET', 'DELETE']) expect((await ask(path, { method })).status).toBe(404)
    }
    expect((await ask(`/conversations/${id}`)).status).toBe(200)
    expect((await ask(`/responses/${response}`)).status).toBe(200)
  })

  test('is kept also beside a store that keeps responses alone', async () => {
    const { conversations: _, ...other } = memoryResponses()
    const own: ResponseStore = {
      ...other,
      put: async () => {},
      get: async () => undefined,
      items: async () => new Map(),
      delete: async () => false,
    }
    const { begun, textsOf } = talking({ responses: own })
    expect(await textsOf(await begun({ items: [user('0')] }))).toEqual(['0'])
  })

  test('stays as it was where the disk is full, and the error says what to do', async () => {
    const texts = new Map<string, string>()
    let isFull = false
    const shelf = {
      async *open() {},
      read: async (id: string) => texts.get(id),
      write: async (id: string, text: string) => {
        if (isFull) throw new Error('ENOSPC')
        texts.set(id, text)
      },
      remove: async (id: string) => void texts.delete(id),
      close: async () => {},
    }
    const { ask, post, begun, textsOf } = talking({ responses: shelvedResponses(shelf) })
    const id = await begun({ items: [user('0')] })
    const [{ id: item }] = jsonOf(await ask(`/conversations/${id}/items`)).data
    isFull = true
    for (const refused of [
      await post('/conversations', { items: [user('0')] }),
      await post(`/conversations/${id}`, { metadata: { topic: 'tea' } }),
      await post(`/conversations/${id}/items`, { items: [user('1')] }),
      await ask(`/conversations/${id}/items/${item}`, { method: 'DELETE' }),
    ]) {
      const error = errorOf(refused)
      expect(error).toMatchObject({ status: 507, type: 'server_error', code: 'store_not_written' })
      expect(error.message).toContain('Make room')
    }
    expect(await textsOf(id)).toEqual(['0'])
    expect(jsonOf(await ask(`/conversations/${id}`)).metadata).toEqual({})
    isFull = false
    expect((await post(`/conversations/${id}/items`, { items: [user('1')] })).status).toBe(200)
    expect(await textsOf(id)).toEqual(['0', '1'])
  })

  test.each([
    ['/conversations', { items: 5 }, 'items'],
    ['/conversations', { items: [5] }, 'items[0]'],
    ['/conversations', { items: [{ role: 'user', content: [{ type: 'input_image' }] }] }, 'items[0].content[0].type'],
    ['/conversations', { items: [{ type: 'item_reference', id: 'msg_0' }] }, 'items[0].id'],
    ['/conversations', { metadata: 'so' }, 'metadata'],
    ['/conversations', { metadata: { a: 5 } }, 'metadata.a'],
    ['/conversations/conv_0', {}, 'metadata'],
    ['/conversations/conv_0/items', { items: [] }, 'items'],
    ['/conversations/conv_0/items', { items: [{ type: 'telegram' }] }, 'items[0].type'],
  ])('refuses at %s %j with an error that names %s', async (path, body, param) => {
    expect(errorOf(await talking().post(path, body))).toMatchObject({ status: 400, param })
  })

  test.each(['limit=0', 'limit=0x', 'limit=101', 'order=up', 'after=msg_0'])('refuses a list by %s', async (query) => {
    const { ask, begun } = talking()
    const answer = await ask(`/conversations/${await begun()}/items?${query}`)
    expect(errorOf(answer)).toMatchObject({ status: 400, param: query.split('=')[0] })
  })
})

describe('a response in a conversation', () => {
  test('reads what was said before, and adds to it', async () => {
    const { begun, respond, textsOf, calls } = talking()
    const id = await begun({ items: [user('I am Ann.')] })
    const first = jsonOf(await respond(id, { input: 'Who am I?', instructions: 'Be brief.' }))
    expect(first.conversation).toEqual({ id })
    const second = await respond({ id }, { input: 'And you?', stream: true })
    expect(second.status).toBe(200)
    expect(await textsOf(id)).toEqual(['I am Ann.', 'Who am I?', 'Answer 1.', 'And you?', 'Answer 2.'])
    expect(calls.map(({ messages }) => messages.map(({ content }) => content))).toEqual([
      ['Be brief.', 'I am Ann.', 'Who am I?'],
      ['I am Ann.', 'Who am I?', 'Answer 1.', 'And you?'],
    ])
  })

  test('adds to it even if it is not stored, or no client waits', async () => {
    const { ask, begun, respond, textsOf } = talking()
    const id = await begun()
    expect((await respond(id, { store: false })).status).toBe(200)
    let response = jsonOf(await respond(id, { input: 'Still there?', background: true }))
    while (response.status !== 'completed') response = jsonOf(await ask(`/responses/${response.id}`))
    expect(await textsOf(id)).toEqual(['Hi', 'Answer 1.', 'Still there?', 'Answer 2.'])
  })

  test('adds nothing if it failed', async () => {
    const failing = async function* () {
      yield text('So')
      throw new Error('It broke.')
    }
    const { begun, respond, textsOf } = talking({}, failing)
    const id = await begun()
    for (const stream of [false, true]) await respond(id, { stream })
    expect(await textsOf(id)).toEqual([])
  })

  test('adds nothing to a conversation that was deleted meanwhile', async () => {
    let remove: () => Promise<unknown> = async () => {}
    const script = async function* () {
      await remove()
      yield* [text('So.'), finish()]
    }
    const { ask, begun, respond } = talking({}, script)
    const id = await begun()
    remove = () => ask(`/conversations/${id}`, { method: 'DELETE' })
    expect((await respond(id)).status).toBe(200)
    expect((await ask(`/conversations/${id}`)).status).toBe(404)
  })

  test('is continued through its conversation', async () => {
    const { begun, respond, post } = talking({ responses: memoryResponses() })
    const { id } = jsonOf(await respond(await begun()))
    const next = await post('/responses', { model: MODEL, input: 'And?', previous_response_id: id })
    expect(errorOf(next)).toMatchObject({ status: 400, param: 'previous_response_id' })
  })

  test.each([false, true])('needs one that there is, in the background: %s', async (background) => {
    const answer = await talking().respond('conv_0', { background })
    expect(errorOf(answer)).toMatchObject({ status: 404, param: 'conversation' })
  })
})
